struct word { atomic_uint value; unsigned apart[15]; };
struct reciprocating { struct word arrivals, gates[17]; struct { unsigned next, end, apart[14]; } holds[17]; };
#define NO_ARRIVALS 0xffffffffu
void acquire(struct thread *me) {
    struct reciprocating *const lock = me->memory;
    const unsigned own = me->number + 1;
    atomic_store_explicit(&lock->gates[own].value, 0, memory_order_relaxed);
    const unsigned before = atomic_exchange_explicit(&lock->arrivals.value, own, memory_order_acq_rel);
    unsigned next = 0, end = own;
    if (before != 0) {
        while ((end = atomic_load_explicit(&lock->gates[own].value, memory_order_acquire)) == 0) syncscope_pause();
        if (before == NO_ARRIVALS || before == end) end = NO_ARRIVALS;
        else next = before;
    }
    lock->holds[own].next = next, lock->holds[own].end = end;
}
void release(struct thread *me) {
    struct reciprocating *const lock = me->memory;
    const unsigned own = me->number + 1;
    unsigned next = lock->holds[own].next, end = lock->holds[own].end, expected = end;
    if (next == 0) {
        if (atomic_compare_exchange_strong_explicit(&lock->arrivals.value, &expected, 0, memory_order_release, memory_order_relaxed)) return;
        next = atomic_exchange_explicit(&lock->arrivals.value, NO_ARRIVALS, memory_order_acquire);
    }
    atomic_store_explicit(&lock->gates[next].value, end, memory_order_release);
}
