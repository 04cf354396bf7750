struct word { atomic_uint value; unsigned apart[15]; };
struct hemlock { struct word tail, grants[17]; };
enum { EMPTY, GRANTED };
void acquire(struct thread *me) {
    struct hemlock *const lock = me->memory;
    const unsigned before = atomic_exchange_explicit(&lock->tail.value, me->number + 1, memory_order_acquire);
    if (before == 0) return;
    for (unsigned granted = GRANTED;
         !atomic_compare_exchange_strong_explicit(&lock->grants[before].value, &granted, EMPTY, memory_order_acquire, memory_order_relaxed);
         granted = GRANTED)
        syncscope_pause();
}
void release(struct thread *me) {
    struct hemlock *const lock = me->memory;
    unsigned own = me->number + 1;
    if (atomic_compare_exchange_strong_explicit(&lock->tail.value, &own, 0, memory_order_release, memory_order_relaxed)) return;
    atomic_store_explicit(&lock->grants[me->number + 1].value, GRANTED, memory_order_release);
    while (atomic_fetch_add_explicit(&lock->grants[me->number + 1].value, 0, memory_order_relaxed) != EMPTY) syncscope_pause();
}
