// The barrier of several GPUs by flags, here of the blocks of one: each block raises the flag of each other one and waits for its own.
// Does it need a fence before the flags, and one of the system?
//   syncscope measure --gpu examples/measure/orderings_flags.cuh --blocks 8 --threads 128 --orderings
__device__ void grid_wait(Thread &me) {
    unsigned *const flags = static_cast<unsigned *>(me.memory);
    const unsigned phase = me.passed + 1;
    __threadfence_system();
    __syncthreads();
    if (threadIdx.x < gridDim.x) {
        asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(flags + threadIdx.x * gridDim.x + blockIdx.x), "r"(phase) : "memory");
        me.wait_until([&] {
            unsigned seen;
            asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(seen) : "l"(flags + blockIdx.x * gridDim.x + threadIdx.x) : "memory");
            return seen >= phase;
        });
    }
    __syncthreads();
}
