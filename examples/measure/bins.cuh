// A histogram of 18 bins in the shared memory of each block, of integers and of floating-point numbers:
//   syncscope measure --gpu examples/measure/bins.cuh --dtype i32,f32 --threads 1024 --blocks 132
__device__ void operation(Thread &me) { atomicAdd(&me.shared[threadIdx.x % 18], (T)1); }
