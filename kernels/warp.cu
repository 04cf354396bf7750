// Barriers of the threads of a warp (gpu.warp).
//
// KIND selects how the warp reaches the barrier and which of its threads wait for each other. GROUP is the size of a
// tile or of a coalesced group. With ALONE, the compiler does not know that the group stays the same, so that it checks
// before each barrier which lanes are together.
#include "harness.cuh"

using Arguments = RegisterArguments;

enum Kind {
    CONVERGED,    // all threads together, which the compiler can see
    PARTIAL,      // one half; the other half waits after the loop
    DIVERGENT,    // two halves with loops of their own, which wait for each other at each barrier
    TILE,         // all threads together; tiles of GROUP neighbours wait
    COALESCED,    // GROUP neighbours that took a branch
    EVERY_FOURTH  // GROUP threads that took a branch, each four lanes from the next
};

struct Operation {
    u32 mask;
    u32 zero;   // known only at run time
    u32 group;  // GROUP, but known only at run time: the compiler would remove a branch that all lanes take

    __device__ __forceinline__ explicit Operation(const Arguments &arguments)
        : mask(0xffffffffu), zero(arguments.opaque_one - 1), group(GROUP * arguments.opaque_one) {
        if constexpr (KIND == PARTIAL) mask = 0xffffu;
        if constexpr (KIND == TILE) mask = (0xffffffffu >> (32 - GROUP)) << (threadIdx.x % 32 & ~(GROUP - 1));
    }

    // Which lanes enter the loop; for divergent warps, which lanes enter the first loop.
    __device__ __forceinline__ bool takes_part() {
        const u32 lane = threadIdx.x % 32;
        bool inside = lane < (KIND == COALESCED ? group : 16);
        if constexpr (KIND == EVERY_FOURTH) inside = lane % 4 == 1 && lane / 4 < group;
        // As in `coalesced_threads()`.
        if ((KIND == COALESCED || KIND == EVERY_FOURTH) && inside) mask = __activemask();
        return inside;
    }

    __device__ __forceinline__ void run() {
        if constexpr (KIND == CONVERGED) {
            __syncwarp();
        } else {
            if constexpr (ALONE) mask += zero;
            asm volatile("bar.warp.sync %0;" ::"r"(mask) : "memory");
        }
    }

    // The comment in the assembly keeps the compiler from merging the two loops.
    template <int PATH>
    __device__ __forceinline__ void run() {
        asm volatile("bar.warp.sync %0; // path %1" ::"r"(mask), "n"(PATH) : "memory");
    }

    __device__ __forceinline__ void finish(const Arguments &) {}

    // Each thread writes, waits, and reads what the next thread of its group wrote, at different times.
    __device__ static void check(const Arguments &arguments) {
        __shared__ volatile u32 phases[1024];
        Operation barrier(arguments);
        phases[threadIdx.x] = 0;
        __syncthreads();
        if constexpr (KIND == DIVERGENT) {
            if (barrier.takes_part()) {
                barrier.check_on_path<0>(arguments, phases);
            } else {
                barrier.check_on_path<1>(arguments, phases);
            }
        } else if constexpr (KIND == PARTIAL || KIND == COALESCED || KIND == EVERY_FOURTH) {
            if (barrier.takes_part()) barrier.check_on_path<0>(arguments, phases);
        } else {
            barrier.check_on_path<0>(arguments, phases);
        }
    }

    template <int PATH>
    __device__ __forceinline__ void check_on_path(const Arguments &arguments, volatile u32 *phases) {
        const u32 lane = threadIdx.x % 32, there = mask & 0xffffffffu >> (32 - warp_lanes());
        const u32 further = there & 0xfffffffeu << lane;
        const u32 partner = threadIdx.x - lane + __ffs(further != 0 ? further : there) - 1;
#pragma unroll 1
        for (u32 phase = 1; phase <= 16; phase++) {
            delay((lane * 7 + phase * 5) % 32);
            phases[threadIdx.x] = phase;
            wait<PATH>();
            const u32 found = phases[partner];
            if (found != phase) report_mismatch(arguments, phase, found);
            wait<PATH>();
        }
    }

    template <int PATH>
    __device__ __forceinline__ void wait() {
        if constexpr (KIND == DIVERGENT) {
            run<PATH>();
        } else {
            run();
        }
    }
};

#if PATHS == 0
SYNCSCOPE_KERNELS
#elif PATHS == 1
SYNCSCOPE_KERNELS_AS(Repeated, Partly)
#else
SYNCSCOPE_KERNELS_AS(OnItsPath, Apart)
#endif
