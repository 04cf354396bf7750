static inline void lock_queue(struct queue *queue, unsigned own) {
    struct node *const node = node_of(queue, own);
    atomic_store_explicit(&node->next, 0, memory_order_relaxed);
    wait_behind(queue, atomic_exchange_explicit(&queue->tail, own, memory_order_acq_rel), own, node);
}
static inline unsigned leave(struct queue *queue, unsigned own, struct node *node, unsigned last) {
    const unsigned next = behind(node);
    unsigned expected = own;
    if (next != 0) return next;
    if (atomic_compare_exchange_strong_explicit(&queue->tail, &expected, last, memory_order_release, memory_order_relaxed)) return 0;
    return wait_for_next(node);
}
