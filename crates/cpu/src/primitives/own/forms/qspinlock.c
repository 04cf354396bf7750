enum { HELD = 1, PENDING = 1 << 8, THREAD = 1 << 9 };
static void queue_up(struct queue *queue, unsigned own) {
    struct node *const node = node_of(queue, own);
    put_behind(queue, own, 0);
    unsigned word = atomic_load_explicit(&queue->tail, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&queue->tail, &word, word % THREAD + own * THREAD, memory_order_acq_rel, memory_order_relaxed)) {}
    wait_behind(queue, word / THREAD, own, node);
    while (atomic_load_explicit(&queue->tail, memory_order_acquire) % THREAD != 0) syncscope_pause();
    unsigned alone = own * THREAD;
    if (atomic_load_explicit(&queue->tail, memory_order_relaxed) != alone ||
        !atomic_compare_exchange_strong_explicit(&queue->tail, &alone, HELD, memory_order_relaxed, memory_order_relaxed)) {
        atomic_fetch_add_explicit(&queue->tail, HELD, memory_order_relaxed);
        grant(queue, wait_for_next(node), 1);
    }
}
static void pend(struct queue *queue, unsigned own) {
    const unsigned before = atomic_fetch_or_explicit(&queue->tail, PENDING, memory_order_relaxed);
    if (before > HELD) {
        if ((before & PENDING) == 0) atomic_fetch_sub_explicit(&queue->tail, PENDING, memory_order_relaxed);
        queue_up(queue, own);
        return;
    }
    while (atomic_load_explicit(&queue->tail, memory_order_acquire) & HELD) syncscope_pause();
    atomic_fetch_sub_explicit(&queue->tail, PENDING - HELD, memory_order_relaxed);
}
void acquire(struct thread *me) {
    struct queue *const queue = me->memory;
    unsigned found = 0;
    if (atomic_compare_exchange_strong_explicit(&queue->tail, &found, HELD, memory_order_acquire, memory_order_relaxed)) return;
    if (found == HELD) pend(queue, me->number + 1);
    else queue_up(queue, me->number + 1);
}
void release(struct thread *me) {
    struct queue *const queue = me->memory;
    atomic_fetch_sub_explicit(&queue->tail, HELD, memory_order_release);
}
