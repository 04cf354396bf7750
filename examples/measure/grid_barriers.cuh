// Barriers of a grid and of a cluster as runtimes for machine learning write them, against grid.sync() and ours:
//   syncscope measure --gpu examples/measure/grid_barriers.cuh --against gpu.grid.cooperative gpu.grid.hierarchical
// On an H200 with 132 blocks of 1,024 threads (measured/h200-grid_barriers.csv): this_grid().sync() 1.02 us, the counter with acquire
// and release 967 ns, with fences 1.06 us, gpu.grid.hierarchical 743 ns; this_cluster().sync() of 8 blocks 327 ns.
#include <cooperative_groups.h>
#include <cuda/atomic>

__device__ void grid_wait(Thread &me) { cooperative_groups::this_grid().sync(); }

// One counter that only grows: an addition that releases, and polls that acquire.
__device__ void grid_wait_counter(Thread &me) {
    __syncthreads();
    if (threadIdx.x == 0) {
        cuda::atomic_ref<unsigned, cuda::thread_scope_device> counter(*static_cast<unsigned *>(me.memory));
        const unsigned target = (me.passed + 1) * gridDim.x;
        counter.fetch_add(1, cuda::memory_order_release);
        me.wait_until([&] { return counter.load(cuda::memory_order_acquire) >= target; });
    }
    __syncthreads();
}

// The same with fences around volatile polls, as code from before the memory model has it.
__device__ void grid_wait_fences(Thread &me) {
    __syncthreads();
    if (threadIdx.x == 0) {
        volatile unsigned *const counter = static_cast<unsigned *>(me.memory);
        const unsigned target = (me.passed + 1) * gridDim.x;
        __threadfence();
        atomicAdd(const_cast<unsigned *>(counter), 1u);
        me.wait_until([&] { return *counter >= target; });
        __threadfence();
    }
    __syncthreads();
}

__device__ void cluster_wait(Thread &me) { cooperative_groups::this_cluster().sync(); }
