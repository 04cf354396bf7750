/* What waiting costs, as a program would find out. It knows nothing of syncscope.
 *
 *     wait WAKER_CPU WAITER_CPU
 *
 * `figure pause NS`: a loop of 10^8 PAUSE, as the difference to a loop without them. `figure spin NS`, `figure spin_hint NS`,
 * `figure futex NS`: two threads that log one clock, from before the store until the waiter, which waits by each way for 5 us or sleeps
 * for 200, goes on; the median less the cost of reading the clock. */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

enum { LOOPS = 100000000, TIMES = 4001 };
enum way { SPIN, HINT, FUTEX, WAYS };
static const char *const names[WAYS] = {"spin", "spin_hint", "futex"};

static _Alignas(128) atomic_uint word;
static _Alignas(128) atomic_uint announced;
static _Alignas(128) atomic_uint seen;
static uint64_t called[TIMES], woken[TIMES];
static enum way way;
static int cpus[2];

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

static uint64_t ticks(void) {
    unsigned unused;
    uint64_t t = __rdtscp(&unused);
    _mm_lfence();
    return t;
}

static void bind(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set)) { perror("sched_setaffinity"); exit(1); }
}

static void *waiter(void *unused) {
    bind(cpus[1]);
    for (unsigned i = 1; i < TIMES; i++) {
        atomic_store(&announced, i);
        switch (way) {
        case SPIN: while (atomic_load_explicit(&word, memory_order_acquire) != i); break;
        case HINT: while (atomic_load_explicit(&word, memory_order_acquire) != i) _mm_pause(); break;
        default: while (atomic_load(&word) != i) syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, i - 1, 0, 0, 0);
        }
        woken[i] = ticks();
        atomic_store(&seen, i);
    }
    return unused;
}

static int ascending(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static uint64_t median(uint64_t *values) {
    qsort(values + 1, TIMES - 1, sizeof *values, ascending);
    return values[TIMES / 2];
}

int main(int count, char **arguments) {
    if (count != 3) return 2;
    for (int i = 0; i < 2; i++) cpus[i] = atoi(arguments[i + 1]);
    bind(cpus[0]);
    double begin = now(), with, without;
    uint64_t first = ticks();
    for (long i = 0; i < LOOPS; i++) __asm__ volatile("pause" ::: "memory");
    with = now();
    for (long i = 0; i < LOOPS; i++) __asm__ volatile("" ::: "memory");
    without = now();
    double ns_per_tick = (without - begin) / (ticks() - first);
    printf("figure pause %.3f\n", (with - begin - (without - with)) / LOOPS);
    static uint64_t readings[TIMES];
    for (int i = 1; i < TIMES; i++) { uint64_t t = ticks(); readings[i] = ticks() - t; }
    uint64_t reading = median(readings);
    for (way = SPIN; way < WAYS; way++) {
        pthread_t thread;
        word = announced = seen = 0;
        pthread_create(&thread, 0, waiter, 0);
        for (unsigned i = 1; i < TIMES; i++) {
            while (atomic_load(&announced) != i) _mm_pause();
            /* 3.75 to 6.25 us, evenly, as a hint may not be met at one point; a sleeper gets the time to fall asleep. */
            double wait = way == FUTEX ? 200000 : 3750 + (i * 2654435769u) / 4294967296.0 * 2500, from = now();
            while (now() - from < wait) _mm_pause();
            called[i] = ticks();
            atomic_store_explicit(&word, i, memory_order_release);
            if (way == FUTEX) syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
            while (atomic_load(&seen) != i) _mm_pause();
        }
        pthread_join(thread, 0);
        for (int i = 1; i < TIMES; i++) woken[i] = woken[i] - called[i] > reading ? woken[i] - called[i] - reading : 0;
        printf("figure %s %.1f\n", names[way], median(woken) * ns_per_tick);
    }
    return 0;
}
