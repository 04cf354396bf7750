// The combine step of a dispatch between experts: a block writes its part, tells it by a flag, and reads what others wrote. Which of
// its fences cost anything, and how much?
//   syncscope measure --gpu examples/measure/orderings_combine.cuh --blocks 8 --threads 128 --orderings
__device__ void operation(Thread &me) {
    unsigned *const words = static_cast<unsigned *>(me.memory);
    words[64 + threadIdx.x % 64] = blockIdx.x;
    __threadfence_block();
    __threadfence();
    __threadfence_system();
    asm volatile("fence.proxy.async;" ::: "memory");
    asm volatile("fence.acq_rel.cta;" ::: "memory");
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
    asm volatile("fence.acq_rel.sys;" ::: "memory");
    asm volatile("fence.sc.gpu;" ::: "memory");
    asm volatile("membar.gl;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) asm volatile("red.release.sys.global.add.u32 [%0], 1;" ::"l"(words) : "memory");
    unsigned seen;
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(seen) : "l"(words) : "memory");
    me.value += seen;
}
