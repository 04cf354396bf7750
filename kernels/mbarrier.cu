// A barrier object in shared memory: all threads of a block arrive at it and wait (gpu.block.mbarrier). Compute
// capability 8.0 or later. With PARITY, the wait names its phase by the parity, as CUTLASS does, and not by the token
// that the arrival returns.
#include "harness.cuh"

using Arguments = RegisterArguments;

__shared__ u64 object;

struct Operation {
    u32 address, parity = 0;
    Spin spin;

    // No thread begins before all have initialized: the harness has a barrier after this.
    __device__ __forceinline__ explicit Operation(const Arguments &arguments)
        : address((u32)__cvta_generic_to_shared(&object)), spin(arguments.abort) {
        if (threadIdx.x == 0)
            asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(address), "r"(blockDim.x) : "memory");
    }

    // The arrival releases what the thread wrote, and the end of the phase acquires what the others wrote. All threads
    // arrive, so no thread misses the end of a phase: the next one needs its arrival. The limit of the spin counts over
    // all phases: a counter that each phase sets to zero costs some cycles of a phase that is over at once.
    __device__ __forceinline__ void run() {
        if constexpr (PARITY) {
            asm volatile("{.reg .b64 phase; mbarrier.arrive.shared.b64 phase, [%0];}" ::"r"(address) : "memory");
            while (!is_over(parity) && spin.goes_on()) {
            }
            parity ^= 1;
        } else {
            u64 phase;
            asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(phase) : "r"(address) : "memory");
            while (!is_over(phase) && spin.goes_on()) {
            }
        }
    }

    // From compute capability 9.0 on, the thread may sleep here for a while.
    __device__ __forceinline__ bool is_over(u64 phase) {
        u32 over;
#if __CUDA_ARCH__ >= 900
        asm volatile("{.reg .pred over; mbarrier.try_wait.shared.b64 over, [%1], %2; selp.u32 %0, 1, 0, over;}"
                     : "=r"(over)
                     : "r"(address), "l"(phase)
                     : "memory");
#else
        asm volatile("{.reg .pred over; mbarrier.test_wait.shared.b64 over, [%1], %2; selp.u32 %0, 1, 0, over;}"
                     : "=r"(over)
                     : "r"(address), "l"(phase)
                     : "memory");
#endif
        return over != 0;
    }

    __device__ __forceinline__ bool is_over(u32 parity) {
        u32 over;
#if __CUDA_ARCH__ >= 900
        asm volatile("{.reg .pred over; mbarrier.try_wait.parity.shared.b64 over, [%1], %2; selp.u32 %0, 1, 0, over;}"
                     : "=r"(over)
                     : "r"(address), "r"(parity)
                     : "memory");
#else
        asm volatile("{.reg .pred over; mbarrier.test_wait.parity.shared.b64 over, [%1], %2; selp.u32 %0, 1, 0, over;}"
                     : "=r"(over)
                     : "r"(address), "r"(parity)
                     : "memory");
#endif
        return over != 0;
    }

    __device__ __forceinline__ void finish(const Arguments &) {}

    __device__ static void check(const Arguments &arguments) { check_barrier<Operation>(arguments, blockDim.x); }
};

template <>
constexpr Meets syncscope::MEETS<Operation> = Meets::BLOCK;

SYNCSCOPE_KERNELS
