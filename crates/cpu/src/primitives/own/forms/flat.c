// Thread 0 looks at a line of each other thread, and one line lets all of them go on.
struct member { atomic_uint arrived; unsigned apart[31]; };
static inline int has_reached(atomic_uint *flag, unsigned episode) {
    return (int)(atomic_load_explicit(flag, memory_order_acquire) - episode) >= 0;
}
void wait(struct thread *me) {
    struct member *const left = me->memory, *const members = left + 1, *const own = &members[me->number];
    const unsigned episode = atomic_load_explicit(&own->arrived, memory_order_relaxed) + 1;
    atomic_store_explicit(&own->arrived, episode, memory_order_release);
    if (me->number > 0) {
        while (!has_reached(&left->arrived, episode)) syncscope_pause();
        return;
    }
    for (unsigned other = 1; other < me->threads; other++)
        while (!has_reached(&members[other].arrived, episode)) syncscope_pause();
    atomic_store_explicit(&left->arrived, episode, memory_order_release);
}
