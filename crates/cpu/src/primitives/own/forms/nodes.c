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
static inline void put_behind(struct queue *queue, unsigned number, unsigned next) {
    atomic_store_explicit(&node_of(queue, number)->next, next, memory_order_relaxed);
}
