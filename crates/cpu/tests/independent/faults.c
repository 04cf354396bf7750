// Locks, barriers and messages with a fault each: `syncscope measure --cpu faults.c --threads 2` should fail all that the hardware
// can show. What x86-64 cannot show, because it keeps the order of loads and of stores, says so.
#define R memory_order_relaxed
#define A memory_order_acquire
#define L memory_order_release
static inline void hold(int turns) { for (int i = 0; i < turns; i++) syncscope_pause(); }
static inline T load(struct thread *me) { return atomic_load_explicit(me->x, R); }
static inline void store(struct thread *me, T value) { atomic_store_explicit(me->x, value, R); }
struct shared { atomic_int a[2], b[2], turn, count, phase, other; };
static inline struct shared *all(struct thread *me) { return (struct shared *)me->memory; }
static inline void release_common(struct thread *me) { atomic_store_explicit(me->x, 0, L); }

// 1 to 9: locks that two threads hold.
void acquire_none(struct thread *me) { (void)me; }
void release_none(struct thread *me) { (void)me; }
void acquire_test_then_set(struct thread *me) { while (load(me)) {} store(me, 1); }
void release_test_then_set(struct thread *me) { release_common(me); }
void acquire_gives_up(struct thread *me) { for (int tries = 0; tries < 20 && atomic_exchange_explicit(me->x, 1, A); tries++) {} }
void release_gives_up(struct thread *me) { release_common(me); }
void acquire_two_slots(struct thread *me) { while (atomic_fetch_add(me->x, 1) >= 2) atomic_fetch_sub(me->x, 1); }
void release_two_slots(struct thread *me) { atomic_fetch_sub(me->x, 1); }
void acquire_early_release(struct thread *me) { while (atomic_exchange_explicit(me->x, 1, A)) {} release_common(me); }
void release_early_release(struct thread *me) { (void)me; }
void acquire_weak_cas(struct thread *me) { T free = 0; if (!atomic_compare_exchange_weak(me->x, &free, 1)) hold(4); }
void release_weak_cas(struct thread *me) { release_common(me); }
// Dekker and Peterson without the fence between the own flag and the look at the other's (store buffer).
void acquire_peterson(struct thread *me) {
    const int i = me->number & 1;
    atomic_store_explicit(&all(me)->a[i], 1, R);
    atomic_store_explicit(&all(me)->turn, 1 - i, R);
    while (atomic_load_explicit(&all(me)->a[1 - i], A) && atomic_load_explicit(&all(me)->turn, A) == 1 - i) {}
}
void release_peterson(struct thread *me) { atomic_store_explicit(&all(me)->a[me->number & 1], 0, L); }
void acquire_dekker(struct thread *me) {
    const int i = me->number & 1;
    for (;;) {
        atomic_store_explicit(&all(me)->a[i], 1, R);
        if (!atomic_load_explicit(&all(me)->a[1 - i], A)) return;
        atomic_store_explicit(&all(me)->a[i], 0, L);
        hold(1 + 2 * i);
    }
}
void release_dekker(struct thread *me) { atomic_store_explicit(&all(me)->a[me->number & 1], 0, L); }
// A ticket that is read and added to in two steps.
void acquire_torn_ticket(struct thread *me) {
    const int mine = atomic_load_explicit(&all(me)->count, R);
    atomic_store_explicit(&all(me)->count, mine + 1, R);
    while (atomic_load_explicit(&all(me)->turn, A) < mine) {}
}
void release_torn_ticket(struct thread *me) { atomic_fetch_add(&all(me)->turn, 1); }

// 10 to 15: barriers.
void wait_nobody(struct thread *me) { (void)me; }
void wait_first_alone(struct thread *me) { if (me->number == 0) hold(50); }
void wait_slips(struct thread *me) {  // lets one of 64 phases slip
    if (me->number != 0 && ++me->value % 64 == 0) return;
    meet(me);
}
void wait_one_short(struct thread *me) {  // does not wait for the last thread
    const T arrived = atomic_fetch_add(me->x, 1);
    while (load(me) < arrived / (T)me->threads * (T)me->threads + (T)me->threads - 1) {}
}
void wait_torn_count(struct thread *me) {  // two may read the same count: a thread waits for ever
    const T arrived = load(me);
    store(me, arrived + 1);
    const T all_of_them = (arrived / (T)me->threads + 1) * (T)me->threads;
    while (load(me) < all_of_them) {}
}
void wait_lost_wake_up(struct thread *me) {  // the last one resets the count that the others look at
    if (atomic_fetch_add(me->x, 1) + 1 == (T)me->threads) { store(me, 0); return; }
    while (load(me) != 0 && load(me) < (T)me->threads) {}
}

// 16 to 20: messages.
void send_nothing(struct thread *me) { (void)me; }
void receive_nothing(struct thread *me) { (void)me; }
void send_twice_a_flag(struct thread *me) { atomic_store_explicit(me->x, 1, L); }  // the flag is never taken back
void receive_twice_a_flag(struct thread *me) { while (!atomic_load_explicit(me->x, A)) {} }
void send_one_ahead(struct thread *me) { atomic_store_explicit(me->x, (T)me->sent, L); }
void receive_one_ahead(struct thread *me) { while (atomic_load_explicit(me->x, A) < (T)me->sent - 1) {} }
void send_relaxed(struct thread *me) { store(me, (T)me->sent); }  // not on x86-64: stores stay in order
void receive_relaxed(struct thread *me) { while (atomic_load_explicit(me->x, A) != (T)me->sent) {} }
void send_to_relaxed(struct thread *me) { atomic_store_explicit(me->x, (T)me->sent, L); }
void receive_to_relaxed(struct thread *me) { while (load(me) != (T)me->sent) {} }  // not on x86-64: loads stay in order
