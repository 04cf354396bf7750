// Kernels that fail on purpose, to test that the host survives them. FAULT selects how.
#include "harness.cuh"

using Arguments = RegisterArguments;

struct Operation {
    const volatile u32 *abort;

    __device__ __forceinline__ explicit Operation(const Arguments &arguments) : abort(arguments.abort) {}

    __device__ __forceinline__ void run() {
#if FAULT == 0
        // Hangs until the host requests a stop.
        while (*abort == 0) {
        }
#else
        // Makes the context unusable.
        __trap();
#endif
    }

    __device__ __forceinline__ void finish(const Arguments &) {}

    __device__ static void check(const Arguments &) {}
};

SYNCSCOPE_KERNELS
