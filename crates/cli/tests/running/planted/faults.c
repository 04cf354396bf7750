// Planted faults: every operation of this file is wrong, and `syncscope measure` has to find it on any CPU with two threads.
#define LOAD(word) atomic_load_explicit(word, memory_order_relaxed)
#define STORE(word, value) atomic_store_explicit(word, value, memory_order_relaxed)

// Two threads hold the lock: nothing keeps them apart.
void acquire_open(struct thread *me) { (void)me, atomic_signal_fence(memory_order_seq_cst); }
void release_open(struct thread *me) { (void)me, atomic_signal_fence(memory_order_seq_cst); }

// Two threads hold the lock: the test and the set are two accesses.
void acquire_test_then_set(struct thread *me) {
    while (LOAD(me->x)) syncscope_pause();
    STORE(me->x, 1);
}
void release_test_then_set(struct thread *me) { atomic_store_explicit(me->x, 0, memory_order_release); }

// Two threads hold the lock: a semaphore of two instead of one.
void acquire_of_two(struct thread *me) {
    for (;;) {
        if (atomic_fetch_add(me->x, 1) < 2) return;
        atomic_fetch_sub(me->x, 1);
    }
}
void release_of_two(struct thread *me) { atomic_fetch_sub(me->x, 1); }

// Two threads hold the lock: a thread that has waited for long takes it anyway.
void acquire_impatient(struct thread *me) {
    for (int polls = 0; atomic_exchange(me->x, 1) && polls < 4; polls++) syncscope_pause();
}
void release_impatient(struct thread *me) { atomic_store(me->x, 0); }

// Two threads get the same ticket: the number is read and written, not added to.
void acquire_same_ticket(struct thread *me) {
    atomic_int *const next = me->memory, *const served = next + 32;
    const int ticket = LOAD(next);
    STORE(next, ticket + 1);
    while (atomic_load(served) < ticket) syncscope_pause();
}
void release_same_ticket(struct thread *me) { atomic_fetch_add((atomic_int *)me->memory + 32, 1); }

// Peterson's lock without the fence between setting the own flag and reading the other one.
void acquire_peterson(struct thread *me) {
    atomic_int *const flags = me->memory, *const turn = flags + 64;
    const int other = 1 - (int)me->number % 2;
    atomic_store_explicit(&flags[32 * (1 - other)], 1, memory_order_release);
    atomic_store_explicit(turn, other, memory_order_release);
    while (atomic_load_explicit(&flags[32 * other], memory_order_acquire) &&
           atomic_load_explicit(turn, memory_order_acquire) == other) syncscope_pause();
}
void release_peterson(struct thread *me) {
    atomic_store_explicit((atomic_int *)me->memory + 32 * (me->number % 2), 0, memory_order_release);
}

// A barrier that waits for nobody.
void wait_open(struct thread *me) { me->value++; }

// A barrier that lets one phase slip: it waits for one thread too few.
void wait_for_one_less(struct thread *me) {
    const T phase = atomic_fetch_add(me->x, 1) / (T)me->threads;
    while (LOAD(me->x) < phase * (T)me->threads + (T)me->threads - 1) syncscope_pause();
}

// A barrier for a single phase: its counter stays full.
void wait_once(struct thread *me) {
    atomic_fetch_add(me->x, 1);
    while (LOAD(me->x) < (T)me->threads) syncscope_pause();
}

// Arrivals are lost, so that all threads wait for ever: the count is read and written, not added to.
void wait_lost_arrival(struct thread *me) {
    const T before = LOAD(me->x);
    STORE(me->x, before + 1);
    while (LOAD(me->x) / (T)me->threads == before / (T)me->threads) syncscope_pause();
}

// A message that nobody waits for.
void send_early(struct thread *me) { atomic_store(me->x, (T)me->sent); }
void receive_early(struct thread *me) { me->value = atomic_load(me->x); }

// A message whose receiver takes the previous message for it.
void send_one_before(struct thread *me) { atomic_store(me->x, (T)me->sent); }
void receive_one_before(struct thread *me) {
    while (atomic_load(me->x) < (T)me->sent - 1) syncscope_pause();
}

// A lost wake-up: the sleeper does not announce its sleep, and nobody wakes it.
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
static void sleep_on(atomic_int *word, int value) { syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, 0, 0, 0); }
static void wake(atomic_int *word) { syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0); }
void acquire_lost_wake_up(struct thread *me) {
    atomic_int *const state = me->memory;
    while (atomic_exchange(state, 1)) sleep_on(state, 1);
}
void release_lost_wake_up(struct thread *me) {
    atomic_int *const state = me->memory;
    if (atomic_exchange(state, 0) == 2) wake(state);
}
