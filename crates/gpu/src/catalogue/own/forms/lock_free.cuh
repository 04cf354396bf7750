// Xiao and Feng: every block raises a flag; the threads of the first block gather the flags and raise the second flag of each block.
__device__ void grid_wait(Thread &me) {
    unsigned *const arrived = static_cast<unsigned *>(me.memory), *const released = arrived + 512;
    const unsigned phase = me.passed + 1;
    __syncthreads();
    if (blockIdx.x == 0) {
        for (unsigned block = 1 + threadIdx.x; block < gridDim.x; block += blockDim.x) {
            me.wait_until([&] {
                unsigned seen;
                asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(arrived + block) : "memory");
                return seen == phase;
            });
        }
        __syncthreads();
        asm volatile("fence.acq_rel.gpu;" ::: "memory");
        for (unsigned block = 1 + threadIdx.x; block < gridDim.x; block += blockDim.x) {
            asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(released + block), "r"(phase) : "memory");
        }
    } else {
        if (threadIdx.x == 0) {
            asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(arrived + blockIdx.x), "r"(phase) : "memory");
            me.wait_until([&] {
                unsigned seen;
                asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(released + blockIdx.x) : "memory");
                return seen == phase;
            });
        }
        __syncthreads();
    }
}
