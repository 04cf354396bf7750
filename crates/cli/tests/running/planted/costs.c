// Two operations; the second one does more: MORE dependent additions, a cycle each, instead of FEW.
#if defined(__x86_64__)
#define ADD "add %1, %0\n"
#else
#define ADD "add %0, %0, %1\n"
#endif
// The additions of an operation depend on those of the previous one.
static inline void chain(struct thread *me, int additions) {
    uint64_t sum = me->value, one = 1;
    for (int i = 0; i < additions; i += 4) __asm__ volatile(ADD ADD ADD ADD : "+r"(sum) : "r"(one) : "memory");
    me->value = sum;
}

void operation_few(struct thread *me) { chain(me, FEW); }
void operation_more(struct thread *me) { chain(me, MORE); }

// A ticket lock: the delay does not change who gets the lock next, and is paid in every hand-over.
static inline void take(struct thread *me) {
    _Atomic uint32_t *next = (_Atomic uint32_t *)me->memory, *serving = next + 1;
    const uint32_t ticket = atomic_fetch_add_explicit(next, 1, memory_order_relaxed);
    while (atomic_load_explicit(serving, memory_order_acquire) != ticket) syncscope_pause();
}
void acquire_few(struct thread *me) { take(me); chain(me, FEW); }
void acquire_more(struct thread *me) { take(me); chain(me, MORE); }
void release(struct thread *me) {
    _Atomic uint32_t *serving = (_Atomic uint32_t *)me->memory + 1;
    atomic_store_explicit(serving, atomic_load_explicit(serving, memory_order_relaxed) + 1, memory_order_release);
}
