void acquire(struct thread *me) { lock_queue(me->memory, me->number + 1); }
void release(struct thread *me) {
    struct queue *const queue = me->memory;
    const unsigned next = leave(queue, me->number + 1, node_of(queue, me->number + 1), 0);
    if (next != 0) grant(queue, next, 1);
}
