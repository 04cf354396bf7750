// A test-and-test-and-set lock with and without PAUSE, with work inside and outside of the critical section:
//   syncscope measure --cpu examples/measure/locks.c --inside 0,100ns --outside 0,1us
// Beside Arm's lockhammer on 16 virtual CPUs (measured/16cpus-lockhammer.csv: ns per acquisition of the team; `theirs_in_our_loop` is its
// lock code as such a file): two runs of lockhammer differ by up to 34 %. Its CLH and OSQ in our loop are within 17 % of it but for CLH with
// 1 us outside at 16 threads (24 %), where its own two runs differ most.
static inline _Bool taken(struct thread *me) { return atomic_exchange_explicit(me->x, 1, memory_order_acquire); }
static inline _Bool looks_taken(struct thread *me) { return atomic_load_explicit(me->x, memory_order_relaxed); }

void acquire_bare(struct thread *me) { while (taken(me)) while (looks_taken(me)) {} }
void acquire_pause(struct thread *me) { while (taken(me)) while (looks_taken(me)) syncscope_pause(); }
void release(struct thread *me) { atomic_store_explicit(me->x, 0, memory_order_release); }
