// One node more than threads: the last one is the end of the empty queue. Numbers count from 1, so that zero is the start.
struct word { atomic_uint value; unsigned apart[15]; };
struct clh { struct word tail, taken[17], owned[16]; struct { unsigned node, before, apart[14]; } holds[16]; };
void acquire(struct thread *me) {
    struct clh *const lock = me->memory;
    unsigned own = atomic_load_explicit(&lock->owned[me->number].value, memory_order_relaxed);
    if (own == 0) own = me->number + 1;
    atomic_store_explicit(&lock->taken[own].value, 1, memory_order_relaxed);
    const unsigned before = atomic_exchange_explicit(&lock->tail.value, own, memory_order_acq_rel);
    while (atomic_load_explicit(&lock->taken[before].value, memory_order_acquire)) syncscope_pause();
    lock->holds[me->number].node = own, lock->holds[me->number].before = before;
}
void release(struct thread *me) {
    struct clh *const lock = me->memory;
    const unsigned own = lock->holds[me->number].node, before = lock->holds[me->number].before;
    // The node of the empty queue has number zero, which means none here: it stays with the queue's first thread as 16.
    atomic_store_explicit(&lock->owned[me->number].value, before == 0 ? 16 : before, memory_order_relaxed);
    atomic_store_explicit(&lock->taken[own].value, 0, memory_order_release);
}
