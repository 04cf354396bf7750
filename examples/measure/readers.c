// What do readers of a lock pay beside writers, and writers beside readers? A file with both halves has rows for each role, with one writer
// and with as many writers as readers; `p99_ns` in details.csv is a role's tail:
//   syncscope measure --cpu examples/measure/readers.c:shared --against cpu.lock.shared_pthread --threads 2,8
// The word counts readers; a writer takes it from 0 to -1, so a stream of readers starves it.
void acquire_shared(struct thread *me) {
    for (;; syncscope_pause()) {
        T found = atomic_load_explicit(me->x, memory_order_relaxed);
        if (found >= 0 &&
            atomic_compare_exchange_weak_explicit(me->x, &found, found + 1, memory_order_acquire, memory_order_relaxed)) {
            return;
        }
    }
}
void release_shared(struct thread *me) { atomic_fetch_sub_explicit(me->x, 1, memory_order_release); }

void acquire(struct thread *me) {
    for (T free = 0;
         !atomic_compare_exchange_weak_explicit(me->x, &free, (T)-1, memory_order_acquire, memory_order_relaxed); free = 0) {
        syncscope_pause();
    }
}
void release(struct thread *me) { atomic_store_explicit(me->x, 0, memory_order_release); }
