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
// One pass of two serves the second queue.
enum { EMPTY = 0x7fffffff, PASSES = 2 };
static inline unsigned of_group(struct node *node) { return atomic_load_explicit(&node->group, memory_order_relaxed); }
static inline void join_queues(struct queue *queue, unsigned last, unsigned next) {
    if (last != 0 && next != 0) put_behind(queue, last, next);
}
void acquire(struct thread *me) {
    struct queue *const queue = me->memory;
    struct node *const node = node_of(queue, me->number + 1);
    atomic_store_explicit(&node->group, me->number % 2, memory_order_relaxed);
    atomic_store_explicit(&node->granted, EMPTY, memory_order_relaxed);
    lock_queue(queue, me->number + 1);
}
static unsigned find_successor(struct queue *queue, struct node *own, unsigned next, unsigned first, unsigned last) {
    unsigned before = 0, found = next;
    while (of_group(node_of(queue, found)) != of_group(own)) {
        before = found, found = behind(node_of(queue, found));
        if (found == 0) return 0;
    }
    if (before != 0) {
        put_behind(queue, before, 0);
        join_queues(queue, last, next);
        atomic_store_explicit(&node_of(queue, first)->last, before, memory_order_relaxed);
        atomic_store_explicit(&own->granted, first, memory_order_relaxed);
    }
    return found;
}
void release(struct thread *me) {
    struct queue *const queue = me->memory;
    struct node *const node = node_of(queue, me->number + 1);
    const unsigned second = atomic_load_explicit(&node->granted, memory_order_relaxed);
    const unsigned last = second == EMPTY ? 0 : atomic_load_explicit(&node_of(queue, second)->last, memory_order_relaxed);
    const unsigned next = leave(queue, me->number + 1, node, last);
    const unsigned first = second == EMPTY ? next : second;
    unsigned local = 0;
    if (next != 0) {
        const unsigned passes = atomic_load_explicit(&queue->passes, memory_order_relaxed) + 1;
        atomic_store_explicit(&queue->passes, passes, memory_order_relaxed);
        if (passes % PASSES != 0) local = find_successor(queue, node, next, first, last);
    }
    if (local != 0) {
        grant(queue, local, atomic_load_explicit(&node->granted, memory_order_relaxed));
    } else if (first != 0) {
        join_queues(queue, last, next);
        grant(queue, first, EMPTY);
    }
}
