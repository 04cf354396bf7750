// Readings of the clock of the multiprocessor, to measure their cost. The host also runs this kernel to warm the device
// up.
#include "harness.cuh"

using Arguments = RegisterArguments;

struct Operation {
    u64 sum = 0;

    __device__ __forceinline__ explicit Operation(const Arguments &) {}

    __device__ __forceinline__ void run() { sum += read_clock(); }

    __device__ __forceinline__ void finish(const Arguments &arguments) {
        static_cast<u64 *>(arguments.memory)[grid_thread()] = sum;
    }

    __device__ static void check(const Arguments &) {}
};

SYNCSCOPE_KERNELS
