// A message published by a store that releases, by a fence and a store, and by a fence of all and a store: what does each cost, and
// is it needed?
//   syncscope measure --cpu examples/measure/orderings_publish.c --orderings
struct slot { atomic_ulong flag; };

static inline void look(struct thread *me) {
    struct slot *const slot = me->memory;
    while (atomic_load_explicit(&slot->flag, memory_order_acquire) != me->sent) syncscope_pause();
}
void receive(struct thread *me) { look(me); }

void send_release(struct thread *me) { atomic_store_explicit(&((struct slot *)me->memory)->flag, me->sent, memory_order_release); }

void send_fence(struct thread *me) {
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&((struct slot *)me->memory)->flag, me->sent, memory_order_relaxed);
}

void send_full(struct thread *me) {
    atomic_thread_fence(memory_order_seq_cst);
    atomic_store_explicit(&((struct slot *)me->memory)->flag, me->sent, memory_order_relaxed);
}
