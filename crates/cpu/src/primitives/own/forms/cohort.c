struct ticket { atomic_uint next, serving; };
struct group { struct ticket own; atomic_uint passes; unsigned apart[13]; };
struct cohort { struct group groups[2]; struct ticket all; };
enum { MOST_PASSES = 1 };
static inline void take(struct ticket *lock) {
    const unsigned mine = atomic_fetch_add_explicit(&lock->next, 1, memory_order_relaxed);
    while (atomic_load_explicit(&lock->serving, memory_order_acquire) != mine) syncscope_pause();
}
static inline void give(struct ticket *lock) {
    const unsigned served = atomic_load_explicit(&lock->serving, memory_order_relaxed);
    atomic_store_explicit(&lock->serving, served + 1, memory_order_release);
}
static inline int is_awaited(struct ticket *lock) {
    return atomic_load_explicit(&lock->next, memory_order_relaxed) - atomic_load_explicit(&lock->serving, memory_order_relaxed) > 1;
}
void acquire(struct thread *me) {
    struct cohort *const lock = me->memory;
    struct group *const group = &lock->groups[me->number % 2];
    take(&group->own);
    if (atomic_load_explicit(&group->passes, memory_order_relaxed) == 0) take(&lock->all);
}
void release(struct thread *me) {
    struct cohort *const lock = me->memory;
    struct group *const group = &lock->groups[me->number % 2];
    const unsigned passes = atomic_load_explicit(&group->passes, memory_order_relaxed);
    if (passes < MOST_PASSES && is_awaited(&group->own)) {
        atomic_store_explicit(&group->passes, passes + 1, memory_order_relaxed);
    } else {
        atomic_store_explicit(&group->passes, 0, memory_order_relaxed);
        give(&lock->all);
    }
    give(&group->own);
}
