struct member { unsigned episode, apart[31]; atomic_uint signalled[4]; unsigned more[28]; };
void wait(struct thread *me) {
    struct member *const members = me->memory, *const own = &members[me->number];
    const unsigned episode = ++own->episode;
    for (unsigned round = 0; 1u << round < me->threads; round++) {
        struct member *const partner = &members[(me->number + (1u << round)) % me->threads];
        atomic_store_explicit(&partner->signalled[round], episode, memory_order_release);
        while ((int)(atomic_load_explicit(&own->signalled[round], memory_order_acquire) - episode) < 0) syncscope_pause();
    }
}
