// Even and odd threads are a cluster each; the first of both meet by two signals.
struct member { unsigned episode; atomic_uint arrived, met, woken; unsigned apart[28]; };
static inline int has_reached(atomic_uint *flag, unsigned episode) {
    return (int)(atomic_load_explicit(flag, memory_order_acquire) - episode) >= 0;
}
void wait(struct thread *me) {
    struct member *const members = me->memory, *const own = &members[me->number];
    const unsigned episode = ++own->episode, cluster = me->number % 2, rank = me->number / 2;
    for (unsigned child = 4 * rank + 1; child <= 4 * rank + 4 && 2 * child + cluster < me->threads; child++)
        while (!has_reached(&members[2 * child + cluster].arrived, episode)) syncscope_pause();
    if (rank != 0) {
        atomic_store_explicit(&own->arrived, episode, memory_order_release);
        while (!has_reached(&members[cluster].woken, episode)) syncscope_pause();
        return;
    }
    if (me->threads > 1) {
        atomic_store_explicit(&members[1 - cluster].met, episode, memory_order_release);
        while (!has_reached(&own->met, episode)) syncscope_pause();
    }
    atomic_store_explicit(&own->woken, episode, memory_order_release);
}
