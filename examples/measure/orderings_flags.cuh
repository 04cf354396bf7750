// The barrier of several GPUs by flags: the last block of each raises a flag on every GPU. Does it need the fence before the flags, and
// one of the system? On two GPUs:
//   syncscope measure --gpu examples/measure/orderings_flags.cuh --device 0,1 --blocks 8 --threads 128 --orderings
__device__ void grid_wait(Thread &me) {
    const unsigned phase = me.passed + 1;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        const unsigned before = atomicAdd(static_cast<unsigned *>(me.memory), 1u);
        if (before + 1 == phase * gridDim.x) {
            __threadfence_system();
            for (unsigned device = 0; device < me.devices(); device++) {
                asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(me.flags_on(device) + me.device()), "r"(phase) : "memory");
            }
        }
        for (unsigned device = 0; device < me.devices(); device++) {
            me.wait_until([&] {
                unsigned seen;
                asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(seen) : "l"(me.flags_on(me.device()) + device) : "memory");
                return seen >= phase;
            });
        }
    }
    __syncthreads();
}
