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
