// A barrier of several devices by one counter in the memory of the first. The last block of each adds to it and waits; it lets the
// other blocks of its device go on.
__device__ void grid_wait(Thread &me) {
    unsigned *const arrived = static_cast<unsigned *>(me.memory), *const released = arrived + 32;
    unsigned *const everyone = me.flags_on(0);
    const unsigned epoch = me.passed + 1;
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned before;
        asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], 1;" : "=r"(before) : "l"(arrived) : "memory");
        if (before + 1 == epoch * gridDim.x) {
            asm volatile("red.release.sys.global.add.u32 [%0], 1;" ::"l"(everyone) : "memory");
            me.wait_until([&] {
                unsigned count;
                asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(count) : "l"(everyone) : "memory");
                return (int)(count - epoch * me.devices()) >= 0;
            });
            asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(released), "r"(epoch) : "memory");
        } else {
            me.wait_until([&] {
                unsigned seen;
                asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(released) : "memory");
                return (int)(seen - epoch) >= 0;
            });
        }
    }
    __syncthreads();
}
