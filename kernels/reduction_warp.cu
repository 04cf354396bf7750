// Sums over the threads of a warp (`gpu.reduction.warp_*`), after figures 3 and 4 of Zhang, Wahib and Matsuoka, "A
// Study of Synchronization Methods in Modern GPUs". METHOD selects how the threads join their values.
//
// The figures show which threads wait for each other in each step; the values go through shared memory. The groups are
// those of cooperative groups without their header: a tile's `sync()` and a coalesced group's `sync()` are a barrier of
// the warp with the mask of their threads.
#include "harness.cuh"

using Arguments = RegisterArguments;

enum Method {
    TILE,       // figure 3: in each step every tile of twice the distance splits into two
    COALESCED,  // figure 4: in each step a branch leaves half of the threads
    SHUFFLE,    // five shuffles
    REDUCE      // one instruction, from compute capability 8.0 on
};

__device__ __forceinline__ void wait_for(u32 mask) { asm volatile("bar.warp.sync %0;" ::"r"(mask) : "memory"); }

struct Operation {
    int value;
    u32 lane;
    int *slots;  // of this warp

    __device__ __forceinline__ explicit Operation(const Arguments &arguments)
        : value((int)(arguments.opaque_one * threadIdx.x)), lane(threadIdx.x % 32) {
        __shared__ int of_block[1024];
        slots = of_block + (threadIdx.x - lane);
    }

    // The sum is in the first thread of the warp.
    __device__ __forceinline__ void run() {
        if constexpr (METHOD == TILE) through_tiles();
        if constexpr (METHOD == COALESCED) through_branches();
        if constexpr (METHOD == SHUFFLE) {
#pragma unroll
            for (u32 distance = 16; distance > 0; distance /= 2) value += __shfl_down_sync(~0u, value, distance);
        }
#if __CUDA_ARCH__ >= 800
        if constexpr (METHOD == REDUCE) value = (int)__reduce_add_sync(~0u, (u32)value);
#endif
    }

    // No thread may still read what another one overwrites.
    __device__ __forceinline__ void share() {
        wait_for(~0u);
        slots[lane] = value;
        wait_for(~0u);
    }

    // The tile of so many neighbouring threads that this thread is in.
    __device__ __forceinline__ u32 tile(u32 size) const { return (~0u >> (32 - size)) << (lane & ~(size - 1)); }

    __device__ __forceinline__ void through_tiles() {
        share();
#pragma unroll
        for (u32 distance = 16; distance > 0; distance /= 2) {
            if (lane % (2 * distance) < distance) {
                value += slots[lane + distance];
                slots[lane] = value;
            }
            if (distance > 1) wait_for(tile(distance));
        }
    }

    __device__ __forceinline__ void through_branches() {
        share();
#pragma unroll
        for (u32 distance = 16; distance > 0; distance /= 2) {
            if (lane < distance) {
                // As `coalesced_threads()`.
                const u32 group = __activemask();
                value += slots[lane + distance];
                slots[lane] = value;
                wait_for(group);
            }
        }
    }

    __device__ __forceinline__ void finish(const Arguments &arguments) {
        static_cast<int *>(arguments.memory)[grid_thread()] = value;
    }

    // Known values, several times one after the other.
    __device__ static void check(const Arguments &arguments) {
        Operation operation(arguments);
#pragma unroll 1
        for (u32 round = 0; round < 16; round++) {
            const u32 warp = threadIdx.x / 32;
            operation.value = (int)((operation.lane * 37 + round * 11 + warp) % 101);
            int expected = 0;
            for (u32 lane = 0; lane < 32; lane++) expected += (int)((lane * 37 + round * 11 + warp) % 101);
            operation.run();
            if (operation.lane == 0 && operation.value != expected) {
                report_mismatch(arguments, expected, operation.value);
            }
        }
    }
};

SYNCSCOPE_KERNELS
