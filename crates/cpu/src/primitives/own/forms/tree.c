struct member { unsigned episode; atomic_uint arrived[4], woken; unsigned apart[26]; };
static inline int has_reached(atomic_uint *flag, unsigned episode) {
    return (int)(atomic_load_explicit(flag, memory_order_acquire) - episode) >= 0;
}
void wait(struct thread *me) {
    struct member *const members = me->memory, *const own = &members[me->number];
    const unsigned episode = ++own->episode, thread = me->number;
    for (unsigned child = 0; child < 4 && 4 * thread + 1 + child < me->threads; child++)
        while (!has_reached(&own->arrived[child], episode)) syncscope_pause();
    if (thread != 0) {
        atomic_store_explicit(&members[(thread - 1) / 4].arrived[(thread - 1) % 4], episode, memory_order_release);
        while (!has_reached(&own->woken, episode)) syncscope_pause();
    }
    for (unsigned child = 2 * thread + 1; child <= 2 * thread + 2 && child < me->threads; child++)
        atomic_store_explicit(&members[child].woken, episode, memory_order_release);
}
