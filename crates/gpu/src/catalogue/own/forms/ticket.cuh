// A ticket lock: the next ticket, and in a line of its own the one whose turn it is.
__device__ void acquire(Thread &me) {
    unsigned *const next = static_cast<unsigned *>(me.memory), *const serving = next + 32;
    unsigned ticket;
    asm volatile("atom.relaxed.gpu.global.add.u32 %0, [%1], 1;" : "=r"(ticket) : "l"(next) : "memory");
    me.wait_until([&] {
        unsigned turn;
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(turn) : "l"(serving) : "memory");
        return turn == ticket;
    });
}

__device__ void release(Thread &me) {
    unsigned *const serving = static_cast<unsigned *>(me.memory) + 32;
    // Only who holds the lock writes it.
    const unsigned turn = *(volatile unsigned *)serving;
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(serving), "r"(turn + 1) : "memory");
}
