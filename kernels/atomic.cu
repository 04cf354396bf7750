// Atomic additions to global memory whose result nobody uses (gpu.atomic.add), as in Burtchell and Burtscher, IISWC 2024.
//
// VALUE is the type of the variable.
#include "harness.cuh"

using Value = VALUE;

struct Operation {
    Value *target;
    Value value;

    // The value differs from thread to thread, and the distance between the targets is known at run time only: the
    // compiler can neither add up a warp's values itself nor tell the shared variable from private ones. What
    // aggregation there is, the hardware does.
    __device__ __forceinline__ explicit Operation(const Arguments &arguments)
        : target(static_cast<Value *>(arguments.memory) + (u64)arguments.stride * grid_thread()),
          value((Value)(arguments.value_scale * grid_thread() + arguments.value_bias)) {}

    // Relaxed, device scope. Without a use of the result this is a reduction (RED), which does not wait.
    __device__ __forceinline__ void run() { atomicAdd(target, value); }

    __device__ __forceinline__ void finish(const Arguments &) {}

    // Integers wrap around in the sum as in the variable; floating point is checked with sums that are exact.
    __device__ static void check(const Arguments &arguments) {
        const u64 threads = (u64)gridDim.x * blockDim.x, thread = grid_thread();
        const bool shared = arguments.stride == 0;
        if (shared && thread != 0) return;
        const u64 one_each = shared ? arguments.value_scale * (threads * (threads - 1) / 2) + arguments.value_bias * threads
                                    : arguments.value_scale * thread + arguments.value_bias;
        const Value expected = (Value)(arguments.total_operations * one_each);
        const Value found = static_cast<const Value *>(arguments.memory)[arguments.stride * thread];
        if (found != expected) report_mismatch(arguments, expected, found);
    }
};

SYNCSCOPE_KERNELS
