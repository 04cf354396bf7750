// Helpers take the thread on under any name:
//   syncscope measure --gpu examples/measure/helper.cuh --threads 256 --blocks 132 --stride 1,32
__device__ void add_to_own(Thread &t) { atomicAdd(&t.mine, (T)1); }

__device__ void operation(Thread &me) { add_to_own(me); }
