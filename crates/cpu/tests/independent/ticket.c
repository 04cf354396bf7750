/* What a delay under a contended ticket lock makes of the whole, as a program would find out. It knows nothing of syncscope.
 *
 *     ticket THREADS A B
 *
 * Prints the ratio of 1,000 acquisitions with B dependent additions under the lock to 1,000 with A: the median of 501. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { PAIRS = 501, TURNS = 1000, MOST = 1024 };

static _Alignas(128) struct { _Atomic uint32_t next, serving; } lock;
static _Alignas(128) struct { int additions, ends; } guarded;

/* Takes the lock; more than none set the additions of all, fewer end the others: whether they have to. */
static int turn(int additions) {
    const uint32_t ticket = atomic_fetch_add_explicit(&lock.next, 1, memory_order_relaxed);
    while (atomic_load_explicit(&lock.serving, memory_order_acquire) != ticket) __builtin_ia32_pause();
    if (additions > 0) guarded.additions = additions;
    if (additions < 0) guarded.ends = 1;
    uint64_t sum = 0;
    for (int i = guarded.additions; i > 0; i -= 4) __asm__ volatile("add $1, %0\nadd $1, %0\nadd $1, %0\nadd $1, %0" : "+r"(sum)::"memory");
    const int ends = guarded.ends;
    atomic_store_explicit(&lock.serving, ticket + 1, memory_order_release);
    return ends;
}

static void bind(long cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set)) { perror("sched_setaffinity"); exit(1); }
}

static void *other(void *cpu) {
    for (bind((long)cpu); !turn(0);) {}
    return 0;
}

static double timed(int additions) {
    struct timespec from, to;
    turn(additions);
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (int i = 0; i < TURNS; i++) turn(0);
    clock_gettime(CLOCK_MONOTONIC, &to);
    return (to.tv_sec - from.tv_sec) * 1e9 + (to.tv_nsec - from.tv_nsec);
}

static int by_size(const void *a, const void *b) {
    const double one = *(const double *)a, other = *(const double *)b;
    return (one > other) - (one < other);
}

int main(int count, char **words) {
    static double ratios[PAIRS];
    static pthread_t threads[MOST];
    if (count != 4 || atoi(words[1]) > MOST) return 2;
    const long last = atoi(words[1]);
    for (long cpu = 1; cpu < last; cpu++) pthread_create(&threads[cpu], 0, other, (void *)cpu);
    bind(0);
    for (int i = 0; i < PAIRS; i++) {
        const double one = timed(atoi(words[2]));
        ratios[i] = timed(atoi(words[3])) / one;
    }
    turn(-1);
    for (long cpu = 1; cpu < last; cpu++) pthread_join(threads[cpu], 0);
    qsort(ratios, PAIRS, sizeof *ratios, by_size);
    printf("%.4f\n", ratios[PAIRS / 2]);
}
