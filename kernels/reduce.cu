// Reductions of a warp in one instruction (gpu.reduce), each depending on the one before. Compute capability 8.0 or
// later.
//
// VALUE is the type, REDUCE the CUDA function, COMBINE(a, b) its result for two values.
#include "harness.cuh"

using Arguments = VariableArguments;

using Value = VALUE;

struct Operation {
    Value value;

    __device__ __forceinline__ explicit Operation(const Arguments &arguments)
        : value((Value)(arguments.value_scale * grid_thread() + arguments.value_bias)) {}

    // The mask may contain lanes that do not exist; they have no value.
    __device__ __forceinline__ void run() { value = REDUCE(0xffffffffu, value); }

    __device__ __forceinline__ void finish(const Arguments &arguments) {
        static_cast<Value *>(arguments.memory)[grid_thread()] = value;
    }

    // A value for each lane, of both signs if the type has signs.
    __device__ static Value sample(u32 lane, u32 round) { return (Value)((lane * 37 + round * 11) % 32 * 0x9e3779b1u); }

    // Reduces known values.
    __device__ static void check(const Arguments &arguments) {
        Operation operation(arguments);
        for (u32 round = 0; round < 16; round++) {
            Value expected = sample(0, round);
            for (u32 lane = 1; lane < warp_lanes(); lane++) expected = COMBINE(expected, sample(lane, round));
            operation.value = sample(threadIdx.x & 31, round);
            operation.run();
            if (operation.value != expected) report_mismatch(arguments, expected, operation.value);
        }
    }
};

SYNCSCOPE_KERNELS
