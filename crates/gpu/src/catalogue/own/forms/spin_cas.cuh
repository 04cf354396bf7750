// A spin lock that is taken by a compare-and-swap. One thread of each warp takes part.
__device__ void acquire(Thread &me) {
    me.wait_until([&] {
        unsigned old;
        asm volatile("atom.acquire.gpu.global.cas.b32 %0, [%1], 0, 1;" : "=r"(old) : "l"(me.memory) : "memory");
        return old == 0;
    });
}

__device__ void release(Thread &me) {
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(me.memory), "r"(0) : "memory");
}
