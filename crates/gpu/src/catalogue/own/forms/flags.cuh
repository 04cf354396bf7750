// A barrier of several devices: the last block of each raises a flag on every device, and each block waits for those on its own. One
// fence releases all flags, and the polls acquire.
__device__ bool is_last(Thread &me) {
    unsigned before;
    asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], 1;" : "=r"(before) : "l"(me.memory) : "memory");
    return before + 1 == (me.passed + 1) * gridDim.x;
}

__device__ void grid_wait(Thread &me) {
    const unsigned epoch = me.passed + 1;
    __syncthreads();
    if (threadIdx.x == 0) {
        if (is_last(me)) {
            asm volatile("fence.acq_rel.sys;" ::: "memory");
            for (unsigned step = 1; step <= me.devices(); step++) {
                unsigned *const flag = me.flags_on((me.device() + step) % me.devices()) + me.device();
                asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(flag), "r"(epoch) : "memory");
            }
        }
        for (unsigned device = 0; device < me.devices(); device++) {
            me.wait_until([&] {
                unsigned seen;
                asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(seen) : "l"(me.flags_on(me.device()) + device) : "memory");
                return seen >= epoch;
            });
        }
    }
    __syncthreads();
}

// Each flag releases, the polls are relaxed, and one fence acquires.
__device__ void grid_wait_release(Thread &me) {
    const unsigned epoch = me.passed + 1;
    __syncthreads();
    if (threadIdx.x == 0) {
        if (is_last(me)) {
            for (unsigned step = 1; step <= me.devices(); step++) {
                unsigned *const flag = me.flags_on((me.device() + step) % me.devices()) + me.device();
                asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(flag), "r"(epoch) : "memory");
            }
        }
        for (unsigned device = 0; device < me.devices(); device++) {
            me.wait_until([&] {
                unsigned seen;
                asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(seen) : "l"(me.flags_on(me.device()) + device) : "memory");
                return seen >= epoch;
            });
        }
        asm volatile("fence.acq_rel.sys;" ::: "memory");
    }
    __syncthreads();
}

// The addition releases alone: the fence before the flags acquires it. The polls are relaxed, and one fence acquires.
__device__ void grid_wait_near_flags(Thread &me) {
    const unsigned epoch = me.passed + 1;
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned before;
        asm volatile("atom.release.gpu.global.add.u32 %0, [%1], 1;" : "=r"(before) : "l"(me.memory) : "memory");
        if (before + 1 == epoch * gridDim.x) {
            asm volatile("fence.acq_rel.sys;" ::: "memory");
            for (unsigned device = 0; device < me.devices(); device++) {
                asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(me.flags_on(device) + me.device()), "r"(epoch) : "memory");
            }
        }
        for (unsigned device = 0; device < me.devices(); device++) {
            me.wait_until([&] {
                unsigned seen;
                asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(seen) : "l"(me.flags_on(me.device()) + device) : "memory");
                return seen >= epoch;
            });
        }
        asm volatile("fence.acquire.sys;" ::: "memory");
    }
    __syncthreads();
}

// Every block adds to a counter in the memory of each device and waits for the one of its own: one way instead of two.
__device__ void grid_wait_direct(Thread &me) {
    __syncthreads();
    if (threadIdx.x == 0) {
        const unsigned target = (me.passed + 1) * gridDim.x * me.devices();
        asm volatile("fence.release.sys;" ::: "memory");
        for (unsigned device = 0; device < me.devices(); device++) {
            asm volatile("red.relaxed.sys.global.add.u32 [%0], 1;" ::"l"(me.flags_on(device)) : "memory");
        }
        me.wait_until([&] {
            unsigned count;
            asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(count) : "l"(me.flags_on(me.device())) : "memory");
            return (int)(count - target) >= 0;
        });
        asm volatile("fence.acquire.sys;" ::: "memory");
    }
    __syncthreads();
}
