/* What threads that contend pay for an operation, as a program would find out: each thread does it as often as it can for
 * some milliseconds, then divides its time by its count. It knows nothing of syncscope.
 *
 *     contend MILLISECONDS CPU...
 *
 * For each number of CPUs of the arguments, and each operation, it prints a line: `figure WHAT THREADS TOTAL NS...`. NS are
 * the costs of an operation for the threads of a run, the fastest first, and TOTAL what one costs at the rate of all
 * together; each the median over the runs. A run in which the system took a CPU from a thread does not count. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

enum { MOST = 256, RUNS = 41, MOST_RUNS = 400, LINES = 64 };

/* A lock and what it protects, or a counter, or the elements of up to 32 threads. Every run takes another one. */
static struct {
    _Alignas(128) atomic_uchar held;
    _Alignas(8) uint64_t protected;
    _Alignas(128) atomic_int counter;
    _Alignas(128) atomic_int elements[MOST];
} memory[LINES];

struct thread {
    _Alignas(128) int number, cpu;
    pthread_t handle;
    long interrupted;
    double ns;
};

static struct thread threads[MOST];
static _Alignas(128) atomic_int waiting, stop;
static int run;
static double run_ns;
static enum { TTAS, COUNTER, FALSE_SHARING, OPERATIONS } operation;
static const char *const names[OPERATIONS] = {"ttas", "counter", "false_sharing"};

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

static long switches(void) {
    struct rusage usage;
    return getrusage(RUSAGE_THREAD, &usage) ? 0 : usage.ru_nivcsw;
}

/* The first thread ends the run: it reads the clock now and then. The main thread would take a CPU from another one. */
#define UNTIL_STOPPED(work) \
    do { \
        work; work; work; work; \
        count += 4; \
        if ((count & 255) == 0 && self->number == 0 && now() - begin > run_ns) atomic_store(&stop, 1); \
    } while (!atomic_load_explicit(&stop, memory_order_relaxed))

static void *contend(void *argument) {
    struct thread *self = argument;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(self->cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set)) { perror("sched_setaffinity"); exit(1); }
    atomic_uchar *held = &memory[run % LINES].held;
    uint64_t *guarded = &memory[run % LINES].protected;
    atomic_int *counter = &memory[run % LINES].counter;
    atomic_int *own = &memory[run % LINES].elements[self->number];
    uint64_t count = 0;
    atomic_fetch_sub(&waiting, 1);
    while (atomic_load(&waiting) > 0) __builtin_ia32_pause();
    self->interrupted = -switches();
    double begin = now();
    switch (operation) {
    case TTAS:
        UNTIL_STOPPED({
            for (;;) {
                while (atomic_load_explicit(held, memory_order_relaxed)) __builtin_ia32_pause();
                if (!atomic_exchange_explicit(held, 1, memory_order_acquire)) break;
            }
            ++*(volatile uint64_t *)guarded;
            atomic_store_explicit(held, 0, memory_order_release);
        });
        break;
    case COUNTER:
        UNTIL_STOPPED(atomic_fetch_add_explicit(counter, 1, memory_order_relaxed));
        break;
    default:
        UNTIL_STOPPED(atomic_fetch_add_explicit(own, 1, memory_order_relaxed));
    }
    self->ns = (now() - begin) / count;
    self->interrupted += switches();
    return NULL;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int count) {
    qsort(values, count, sizeof *values, by_value);
    return values[count / 2];
}

static void measure(int count) {
    static double total[RUNS], ns[MOST][RUNS];
    int kept = 0;
    for (run = 0; run < MOST_RUNS && kept < RUNS; run++) {
        double of_run[MOST], rate = 0;
        long interrupted = 0;
        atomic_store(&stop, 0);
        atomic_store(&waiting, count);
        for (int i = 0; i < count; i++)
            if (pthread_create(&threads[i].handle, NULL, contend, &threads[i])) { perror("pthread_create"); exit(1); }
        for (int i = 0; i < count; i++) {
            pthread_join(threads[i].handle, NULL);
            interrupted += threads[i].interrupted;
            of_run[i] = threads[i].ns;
            rate += 1 / of_run[i];
        }
        if (interrupted) continue;
        qsort(of_run, count, sizeof *of_run, by_value);
        for (int i = 0; i < count; i++) ns[i][kept] = of_run[i];
        total[kept++] = count / rate;
    }
    if (!kept) { fprintf(stderr, "%d of %d runs were interrupted\n", run, run); exit(1); }
    printf("figure %s %d %f", names[operation], count, median(total, kept));
    for (int i = 0; i < count; i++) printf(" %f", median(ns[i], kept));
    printf("\n");
}

int main(int argc, char **argv) {
    run_ns = argc > 1 ? atof(argv[1]) * 1e6 : 0;
    int most = argc - 2;
    if (run_ns <= 0 || most < 1 || most > MOST) {
        fprintf(stderr, "usage: contend MILLISECONDS CPU...\n");
        return 2;
    }
    for (int i = 0; i < most; i++) threads[i] = (struct thread){.number = i, .cpu = atoi(argv[i + 2])};
    for (int count = 1; count <= most; count *= 2)
        for (operation = TTAS; operation < OPERATIONS; operation++) measure(count);
    return 0;
}
