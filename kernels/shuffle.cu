// Exchange of registers within a warp (gpu.shuffle.idx), each exchange depending on the one before.
//
// VALUE is the type exchanged; those of 64 bits take two instructions.
#include "harness.cuh"

using Value = VALUE;

struct Operation {
    Value value;
    u32 source;

    // The paper reads from lane (lane + 1) % 32, which in a block of fewer than 32 threads may not exist and then gives
    // an undefined value. Turning within the lanes that exist costs the same and can be checked.
    __device__ __forceinline__ explicit Operation(const Arguments &)
        : value((Value)grid_thread()), source(((threadIdx.x & 31) + 1) % warp_lanes()) {}

    // The mask may name lanes that do not exist: the instruction waits for those named that have not exited (PTX ISA,
    // shfl.sync), and a constant mask of all lanes needs no instruction of its own.
    __device__ __forceinline__ void run() { value = __shfl_sync(0xffffffffu, value, source); }

    __device__ __forceinline__ void finish(const Arguments &arguments) {
        static_cast<Value *>(arguments.memory)[grid_thread()] = value;
    }

    // After n exchanges each lane holds the value of the lane n further on.
    __device__ static void check(const Arguments &arguments) {
        const u32 lane = threadIdx.x & 31, thread = grid_thread();
        const u32 origin = thread - lane + (u32)((lane + arguments.last_operations) % warp_lanes());
        const Value found = static_cast<const Value *>(arguments.memory)[thread];
        if (found != (Value)origin) report_mismatch(arguments, (Value)origin, found);
    }
};

SYNCSCOPE_KERNELS
