struct ticket { atomic_uint next, serving; };
void acquire(struct thread *me) {
    struct ticket *const lock = me->memory;
    const unsigned mine = atomic_fetch_add_explicit(&lock->next, 1, memory_order_relaxed);
    while (atomic_load_explicit(&lock->serving, memory_order_acquire) != mine) syncscope_pause();
}
void release(struct thread *me) {
    struct ticket *const lock = me->memory;
    const unsigned served = atomic_load_explicit(&lock->serving, memory_order_relaxed);
    atomic_store_explicit(&lock->serving, served + 1, memory_order_release);
}
