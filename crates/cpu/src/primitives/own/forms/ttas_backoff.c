void acquire(struct thread *me) {
    for (unsigned pauses = 4;; pauses = pauses < 8 ? 2 * pauses : 8) {
        while (atomic_load_explicit(me->x, memory_order_relaxed)) syncscope_pause();
        if (!atomic_exchange_explicit(me->x, 1, memory_order_acquire)) return;
        for (unsigned left = pauses; left > 0; left--) syncscope_pause();
    }
}
void release(struct thread *me) { atomic_store_explicit(me->x, 0, memory_order_release); }
