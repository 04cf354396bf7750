// Barriers of a thread block (gpu.block.syncthreads).
#include "harness.cuh"

struct Operation {
    __device__ __forceinline__ explicit Operation(const Arguments &) {}

    __device__ __forceinline__ void run() { __syncthreads(); }

    __device__ __forceinline__ void finish(const Arguments &) {}

    // Each thread writes, waits, and reads what a thread of another warp wrote; before the next round it waits again.
    // Warps arrive at different times, so that without a barrier a reader would be too early.
    __device__ static void check(const Arguments &arguments) {
        __shared__ volatile u32 phases[1024];
        Operation barrier(arguments);
        const u32 partner = (threadIdx.x + blockDim.x / 2) % blockDim.x;
        phases[threadIdx.x] = 0;
        barrier.run();
#pragma unroll 1
        for (u32 phase = 1; phase <= 16; phase++) {
            dawdle((threadIdx.x / 32 * 7 + phase * 5) % 32);
            phases[threadIdx.x] = phase;
            barrier.run();
            const u32 found = phases[partner];
            if (found != phase) report_mismatch(arguments, phase, found);
            barrier.run();
        }
    }

    // Lets some hundreds of cycles pass for each step.
    __device__ static void dawdle(u32 steps) {
        const u32 start = read_clock_low();
        while (read_clock_low() - start < steps * 256) {
        }
    }
};

SYNCSCOPE_KERNELS
