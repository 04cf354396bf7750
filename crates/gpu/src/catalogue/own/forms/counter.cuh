// One counter that only grows: no block needs the result of its addition. The first poll is delayed until the others arrive.
__device__ void grid_wait(Thread &me) {
    unsigned *const counter = static_cast<unsigned *>(me.memory);
    __syncthreads();
    if (threadIdx.x == 0) {
        const unsigned target = (me.passed + 1) * gridDim.x;
        asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(counter) : "memory");
        const unsigned start = clock();
        while ((unsigned)clock() - start < 350) {
        }
        me.wait_until([&] {
            unsigned count;
            asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(count) : "l"(counter) : "memory");
            return (int)(count - target) >= 0;
        });
    }
    __syncthreads();
}
