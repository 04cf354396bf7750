// The barrier at the end of a sum over blocks that somebody wrote with relaxed accesses, because it is faster: what do they save, and
// what is lost?
//   syncscope measure --gpu examples/measure/orderings_reduce.cuh --blocks 8 --threads 128 --orderings
__device__ void grid_wait(Thread &me) {
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned *const counter = static_cast<unsigned *>(me.memory);
        const unsigned target = (me.passed + 1) * gridDim.x;
        asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(counter) : "memory");
        me.wait_until([&] {
            unsigned seen;
            asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(counter) : "memory");
            return seen >= target;
        });
    }
    __syncthreads();
}
