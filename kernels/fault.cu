// Kernels that go wrong on purpose, to test that the host survives them. FAULT chooses how.
#include "harness.cuh"

using Arguments = RegisterArguments;

struct Operation {
    const volatile u32 *abort;

    __device__ __forceinline__ explicit Operation(const Arguments &arguments) : abort(arguments.abort) {}

    __device__ __forceinline__ void run() {
#if FAULT == 0
        // Hangs until the host asks it to stop.
        while (*abort == 0) {
        }
#else
        // Ends the context.
        __trap();
#endif
    }

    __device__ __forceinline__ void finish(const Arguments &) {}

    __device__ static void check(const Arguments &) {}
};

SYNCSCOPE_KERNELS
