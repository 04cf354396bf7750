// The sum of a block of 256 threads by CUB, which shuffles within warps and adds their sums in shared memory:
//   syncscope measure --gpu examples/measure/block_sum.cuh --threads 256 --blocks 1,132 --dtype i32,f32
#include <cub/block/block_reduce.cuh>

__device__ void operation(Thread &me) {
    using Reduce = cub::BlockReduce<T, 256>;
    __shared__ typename Reduce::TempStorage storage;
    // The first thread alone has the sum.
    me.value = Reduce(storage).Sum(me.value);
    // Before the storage is used again.
    __syncthreads();
}
