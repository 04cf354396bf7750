// A barrier object in shared memory: all threads of a block arrive at it and wait (gpu.block.mbarrier). Compute
// capability 8.0 or later. With PARITY, the wait names its phase by the parity, as CUTLASS does, and not by the token
// that the arrival returns.
#include "mbarrier.cuh"

using Arguments = RegisterArguments;

__shared__ u64 object;

struct Operation {
    u32 address, parity = 0, tests = 0;

    // No thread begins before all have initialized: the harness has a barrier after this.
    __device__ __forceinline__ explicit Operation(const Arguments &) : address((u32)__cvta_generic_to_shared(&object)) {
        if (threadIdx.x == 0)
            asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(address), "r"(blockDim.x) : "memory");
    }

    // The arrival releases what the thread wrote, and the end of the phase acquires what the others wrote. All threads
    // arrive, so no thread misses the end of a phase: the next one needs its arrival.
    __device__ __forceinline__ void run() {
        u64 phase;
        asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(phase) : "r"(address) : "memory");
        wait_until_over(tests,
                        [&] { return PARITY ? is_over_by_parity(address, parity) : is_over_by_token(address, phase); });
        parity ^= 1;
    }

    __device__ __forceinline__ void finish(const Arguments &) {}

    __device__ static void check(const Arguments &arguments) { check_barrier<Operation>(arguments, blockDim.x); }
};

template <>
constexpr Meets syncscope::MEETS<Operation> = Meets::BLOCK;

SYNCSCOPE_KERNELS
