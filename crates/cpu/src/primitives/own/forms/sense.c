struct sense { atomic_uint missing; unsigned apart[31]; atomic_bool sense; char more[63]; struct { bool sense; char apart[63]; } local[16]; };
void setup(struct thread *me) { atomic_store_explicit(&((struct sense *)me->memory)->missing, me->threads, memory_order_relaxed); }
void wait(struct thread *me) {
    struct sense *const barrier = me->memory;
    const bool sense = barrier->local[me->number].sense = !barrier->local[me->number].sense;
    if (atomic_fetch_sub_explicit(&barrier->missing, 1, memory_order_acq_rel) == 1) {
        atomic_store_explicit(&barrier->missing, me->threads, memory_order_relaxed);
        atomic_store_explicit(&barrier->sense, sense, memory_order_release);
        return;
    }
    while (atomic_load_explicit(&barrier->sense, memory_order_acquire) != sense) syncscope_pause();
}
