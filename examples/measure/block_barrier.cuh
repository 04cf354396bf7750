// The barrier object of the library for a block, against __syncthreads():
//   syncscope measure --gpu examples/measure/block_barrier.cuh --threads 32,128,1024 --blocks 1
#include <cuda/barrier>

using Barrier = cuda::barrier<cuda::thread_scope_block>;

// Bytes, because a shared variable has no constructor.
__device__ Barrier &barrier() {
    __shared__ alignas(Barrier) unsigned char bytes[sizeof(Barrier)];
    return *reinterpret_cast<Barrier *>(bytes);
}

__device__ void setup(Thread &) {
    if (threadIdx.x == 0) init(&barrier(), blockDim.x);
    __syncthreads();
}

__device__ void wait_object(Thread &) { barrier().arrive_and_wait(); }

__device__ void wait_plain(Thread &) { __syncthreads(); }
