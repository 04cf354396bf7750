// Barriers of the threads of a warp (gpu.warp).
//
// KIND says how the warp comes to the barrier and which of its threads wait for each other; GROUP is the size of a tile
// or of a coalesced group.
#include "harness.cuh"

using Arguments = RegisterArguments;

enum Kind {
    CONVERGED,  // all together, which the compiler can see
    PARTIAL,    // one half, while the other half waits behind the loop
    DIVERGENT,  // in two halves, each with a loop of its own, that meet at each barrier
    TILE,       // all together, to wait in tiles of GROUP neighbours
    COALESCED   // GROUP threads that took a branch
};

struct Operation {
    u32 mask;
    u32 group;  // GROUP, but known at run time only: of a branch that all lanes take there would be nothing left

    __device__ __forceinline__ explicit Operation(const Arguments &arguments)
        : mask(0xffffffffu), group(GROUP * arguments.opaque_one) {
        if constexpr (KIND == PARTIAL) mask = 0xffffu;
        if constexpr (KIND == TILE) mask = (0xffffffffu >> (32 - GROUP)) << (threadIdx.x % 32 & ~(GROUP - 1));
    }

    // Which lanes come into the loop; of the divergent ones, which into the first.
    __device__ __forceinline__ bool takes_part() {
        const u32 lane = threadIdx.x % 32;
        const bool inside = lane < (KIND == COALESCED ? group : 16);
        // As `coalesced_threads()` finds them.
        if (KIND == COALESCED && inside) mask = __activemask();
        return inside;
    }

    __device__ __forceinline__ void run() {
        if constexpr (KIND == CONVERGED) {
            __syncwarp();
        } else {
            asm volatile("bar.warp.sync %0;" ::"r"(mask) : "memory");
        }
    }

    // The comment keeps the compiler from making one loop of the two.
    template <int PATH>
    __device__ __forceinline__ void run() {
        asm volatile("bar.warp.sync %0; // path %1" ::"r"(mask), "n"(PATH) : "memory");
    }

    __device__ __forceinline__ void finish(const Arguments &) {}

    // Each thread writes, waits, and reads what the next thread of its group wrote, all at different times.
    __device__ static void check(const Arguments &arguments) {
        __shared__ volatile u32 phases[1024];
        Operation barrier(arguments);
        phases[threadIdx.x] = 0;
        __syncthreads();
        if constexpr (KIND == DIVERGENT) {
            if (barrier.takes_part()) {
                barrier.meet<0>(arguments, phases);
            } else {
                barrier.meet<1>(arguments, phases);
            }
        } else if constexpr (KIND == PARTIAL || KIND == COALESCED) {
            if (barrier.takes_part()) barrier.meet<0>(arguments, phases);
        } else {
            barrier.meet<0>(arguments, phases);
        }
    }

    template <int PATH>
    __device__ __forceinline__ void meet(const Arguments &arguments, volatile u32 *phases) {
        const u32 lane = threadIdx.x % 32, there = mask & 0xffffffffu >> (32 - warp_lanes());
        const u32 further = there & 0xfffffffeu << lane;
        const u32 partner = threadIdx.x - lane + __ffs(further != 0 ? further : there) - 1;
#pragma unroll 1
        for (u32 phase = 1; phase <= 16; phase++) {
            dawdle((lane * 7 + phase * 5) % 32);
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
