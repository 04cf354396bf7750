// Threads count from 1.
struct node { atomic_uint granted, next, group, last; unsigned apart[12]; };
struct queue { atomic_uint tail, passes; unsigned apart[14]; struct node nodes[16]; };

static inline struct node *node_of(struct queue *queue, unsigned number) { return &queue->nodes[number - 1]; }
static inline unsigned behind(struct node *node) { return atomic_load_explicit(&node->next, memory_order_acquire); }
static inline void grant(struct queue *queue, unsigned number, unsigned value) {
    atomic_store_explicit(&node_of(queue, number)->granted, value, memory_order_release);
}
static inline void wait_behind(struct queue *queue, unsigned before, unsigned own, struct node *node) {
    if (before == 0) return;
    atomic_store_explicit(&node->granted, 0, memory_order_relaxed);
    atomic_store_explicit(&node_of(queue, before)->next, own, memory_order_release);
    while (atomic_load_explicit(&node->granted, memory_order_acquire) == 0) syncscope_pause();
}
static inline unsigned wait_for_next(struct node *node) {
    unsigned next;
    while ((next = behind(node)) == 0) syncscope_pause();
    return next;
}
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
static inline void put_behind(struct queue *queue, unsigned number, unsigned next) {
    atomic_store_explicit(&node_of(queue, number)->next, next, memory_order_relaxed);
}
void acquire(struct thread *me) { lock_queue(me->memory, me->number + 1); }
void release(struct thread *me) {
    struct queue *const queue = me->memory;
    const unsigned next = leave(queue, me->number + 1, node_of(queue, me->number + 1), 0);
    if (next != 0) grant(queue, next, 1);
}
