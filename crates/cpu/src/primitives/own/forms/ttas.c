void acquire(struct thread *me) {
    do {
        while (atomic_load_explicit(me->x, memory_order_relaxed)) syncscope_pause();
    } while (atomic_exchange_explicit(me->x, 1, memory_order_acquire));
}
void release(struct thread *me) { atomic_store_explicit(me->x, 0, memory_order_release); }
