/* Waits by policy and budget, shared locks by role, a flat barrier, stores that publish and the speed of cores, as a program would find
 * them out. It knows nothing of syncscope.
 *
 *     roles openmp|budget|shared|flat|publish|speed CPU...
 *
 * Prints `figure ID DTYPE LAYOUT THREADS GROUP NS CYCLES SLOWEST` as rows.c does. `openmp` reads OMP_WAIT_POLICY and GOMP_SPINCOUNT as
 * libgomp does, and POLICY, the word that it prints for them. Threads are those of the CPUs given, one each. */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 64, TIMES = 601 };
static int cpus[MOST], count;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

static void bind(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set)) { perror("sched_setaffinity"); exit(1); }
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int n) {
    qsort(values, n, sizeof *values, by_value);
    return values[n / 2];
}

static void print(const char *id, const char *type, const char *layout, int threads, const char *group, double ns) {
    printf("figure %s %s %s %d %s %.4f 0 %.4f\n", id, type, layout, threads, group, ns, ns);
    fflush(stdout);
}

/* What two readings of the clock show with nothing between them. */
static double reading(void) {
    double all[TIMES];
    for (int i = 0; i < TIMES; i++) { double begin = now(); all[i] = now() - begin; }
    return median(all, TIMES);
}

static void spin_until(double end) { while (now() < end) __builtin_ia32_pause(); }

/* A serial part of thread 0, then the barriers before and after an empty parallel part. */
static void openmp(void) {
    const char *policy = getenv("POLICY");
    static double all[TIMES];
    double cost = reading();
    const int gaps[] = {0, 20, 200};
    omp_set_dynamic(0);
    for (int round = 0; round < 3; round++) {
        int gap = gaps[round];
#pragma omp parallel num_threads(count)
        {
            bind(cpus[omp_get_thread_num()]);
            for (int i = 0; i < TIMES; i++) {
                double begin = 0;
                if (omp_get_thread_num() == 0) { spin_until(now() + gap * 1e3); begin = now(); }
#pragma omp barrier
#pragma omp barrier
                if (omp_get_thread_num() == 0) all[i] = now() - begin - cost;
            }
        }
        char group[64];
        snprintf(group, sizeof group, "libgomp_%s_gap_%d_us", policy ? policy : "default", gap);
        print("cpu.openmp.parallel_part", "-", "-", count, group, median(all, TIMES));
    }
    for (int sample = 0; sample < 101; sample++) {
        const int each = 64;
        static double begin, took;
#pragma omp parallel num_threads(count)
        {
            bind(cpus[omp_get_thread_num()]);
#pragma omp barrier
            if (omp_get_thread_num() == 0) begin = now();
            for (int i = 0; i < each; i++) {
#pragma omp barrier
            }
            if (omp_get_thread_num() == 0) took = (now() - begin) / each;
        }
        all[sample] = took;
    }
    char group[64];
    snprintf(group, sizeof group, "libgomp_%s", policy ? policy : "default");
    print("cpu.openmp.barrier", "-", "-", count, group, median(all, 101));
}

/* Two threads: one ends the waits of the other, which spins for a time, then sleeps. */
static _Alignas(128) atomic_uint word, announced, passed;
static _Alignas(128) _Atomic double ended_at;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t signal_of_end = PTHREAD_COND_INITIALIZER;
static atomic_int stop;
static double budget_ns, costs[TIMES];
enum way { FUTEX, CONDVAR, YIELD };
static enum way way;
enum { WAITS = 10, SAMPLES = 121 };

static void *waiter(void *unused) {
    bind(cpus[1]);
    for (unsigned i = 1; i <= WAITS * SAMPLES; i++) {
        atomic_store(&announced, i);
        double begin = now(), spun = begin, late = 0;
        while (atomic_load(&word) != i && budget_ns > 0 && (spun = now()) - begin < budget_ns) __builtin_ia32_pause();
        spun = now();
        if (atomic_load(&word) != i) {
            if (way == FUTEX) while (atomic_load(&word) != i) syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, i - 1, 0, 0, 0);
            if (way == YIELD) while (atomic_load(&word) != i) sched_yield();
            if (way == CONDVAR) {
                pthread_mutex_lock(&mutex);
                while (atomic_load(&word) != i) pthread_cond_wait(&signal_of_end, &mutex);
                pthread_mutex_unlock(&mutex);
            }
            double ended = ended_at, from = ended > spun ? ended : spun;
            late = now() - from;
        }
        costs[(i - 1) / WAITS] += spun - begin + late;
        atomic_store(&passed, i);
    }
    return unused;
}

static void budget(void) {
    static const char *const names[] = {"futex", "condvar", "yield"};
    const int budgets[] = {0, 2, 5, 10, 20, 50, 200, 1000};
    bind(cpus[0]);
    for (way = FUTEX; way <= YIELD; way++) for (int b = 0; b < 8; b++) {
        budget_ns = budgets[b] * 1e3;
        memset(costs, 0, sizeof costs);
        atomic_store(&word, 0), atomic_store(&announced, 0), atomic_store(&passed, 0);
        pthread_t thread;
        pthread_create(&thread, 0, waiter, 0);
        for (unsigned i = 1; i <= WAITS * SAMPLES; i++) {
            while (atomic_load(&announced) != i) __builtin_ia32_pause();
            double share = (i * 0x9E3779B9u) / 4294967295.0;
            spin_until(now() + (1 << (i % WAITS)) * 1e3 * (0.75 + share / 2));
            ended_at = now();
            if (way == CONDVAR) {
                pthread_mutex_lock(&mutex);
                atomic_store(&word, i);
                pthread_mutex_unlock(&mutex);
                pthread_cond_signal(&signal_of_end);
            } else {
                atomic_store(&word, i);
                if (way == FUTEX) syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
            }
            while (atomic_load(&passed) != i) __builtin_ia32_pause();
        }
        pthread_join(thread, 0);
        char id[64], group[32];
        snprintf(id, sizeof id, "cpu.wait.budget_%s", names[way]);
        snprintf(group, sizeof group, "spin_%d_us", budgets[b]);
        print(id, "-", "-", 2, group, median(costs, SAMPLES) / WAITS);
    }
}

/* Readers and writers of a pthread_rwlock_t in a window of 2 ms. */
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static _Alignas(128) long counter;
static int writers;
static struct { _Alignas(128) atomic_long done; long sum; } of_thread[MOST];
static pthread_barrier_t together;

static void *member(void *argument) {
    int thread = (int)(intptr_t)argument;
    bind(cpus[thread]);
    pthread_barrier_wait(&together);
    for (long done = 0; !atomic_load_explicit(&stop, memory_order_relaxed);) {
        if (thread < writers) { pthread_rwlock_wrlock(&lock); counter++; pthread_rwlock_unlock(&lock); }
        else { pthread_rwlock_rdlock(&lock); of_thread[thread].sum += counter; pthread_rwlock_unlock(&lock); }
        atomic_store_explicit(&of_thread[thread].done, ++done, memory_order_relaxed);
    }
    return 0;
}

static void shared(void) {
    int mixes[2] = {1, count / 2};
    for (int m = 0; m < (mixes[1] > 1 ? 2 : 1); m++) {
        static double read[41], write[41];
        writers = mixes[m];
        for (int window = 0; window < 41; window++) {
            pthread_t threads[MOST];
            long before[MOST], after[MOST];
            atomic_store(&stop, 0);
            pthread_barrier_init(&together, 0, count + 1);
            for (int i = 0; i < count; i++) atomic_store(&of_thread[i].done, 0);
            for (intptr_t i = 0; i < count; i++) pthread_create(threads + i, 0, member, (void *)i);
            pthread_barrier_wait(&together);
            usleep(1000);
            double begin = now();
            for (int i = 0; i < count; i++) before[i] = atomic_load(&of_thread[i].done);
            usleep(4000);
            double length = now() - begin;
            for (int i = 0; i < count; i++) after[i] = atomic_load(&of_thread[i].done);
            atomic_store(&stop, 1);
            for (int i = 0; i < count; i++) pthread_join(threads[i], 0);
            double done[2] = {0, 0};
            for (int i = 0; i < count; i++) done[i < writers] += after[i] - before[i];
            read[window] = length * (count - writers) / (done[0] > 0 ? done[0] : 1);
            write[window] = length * writers / (done[1] > 0 ? done[1] : 1);
        }
        char group[32];
        snprintf(group, sizeof group, "%d_readers", count - writers);
        print("cpu.lock.shared_pthread", "-", "-", count, group, median(read, 41));
        snprintf(group, sizeof group, "%d_writers", writers);
        print("cpu.lock.shared_pthread", "-", "-", count, group, median(write, 41));
    }
}

/* Each thread stores to a line of its own, thread 0 reads all and lets them go on. */
static struct { _Alignas(128) atomic_uint arrived; } flags[MOST];
static _Alignas(128) atomic_uint go;
static double flat_ns[201];

static void *flat_member(void *argument) {
    int thread = (int)(intptr_t)argument;
    const unsigned each = 2000;
    unsigned episode = 0;
    bind(cpus[thread]);
    for (int sample = 0; sample < 201; sample++) {
        double begin = now();
        for (unsigned i = 0; i < each; i++) {
            episode++;
            if (thread > 0) {
                atomic_store_explicit(&flags[thread].arrived, episode, memory_order_release);
                while ((int)(atomic_load_explicit(&go, memory_order_acquire) - episode) < 0) __builtin_ia32_pause();
            } else {
                for (int other = 1; other < count; other++)
                    while ((int)(atomic_load_explicit(&flags[other].arrived, memory_order_acquire) - episode) < 0) __builtin_ia32_pause();
                atomic_store_explicit(&go, episode, memory_order_release);
            }
        }
        if (thread == 0) flat_ns[sample] = (now() - begin) / each;
    }
    return 0;
}

static void flat(void) {
    pthread_t threads[MOST];
    for (intptr_t i = 0; i < count; i++) pthread_create(threads + i, 0, flat_member, (void *)i);
    for (int i = 0; i < count; i++) pthread_join(threads[i], 0);
    print("cpu.barrier.flat", "-", "-", count, "-", median(flat_ns, 201));
}

/* Stores to other lines, then one that publishes; the difference to the same without it. */
static struct { _Alignas(128) atomic_ulong value; } lines[64][9];

#define STORES(n) for (int k = 1; k <= n; k++) atomic_store_explicit(&line[k].value, 1, memory_order_relaxed)
#define LOOPS(n)                                                                                                                  \
    static double loop_##n(int publishes, long times) {                                                                          \
        double begin = now();                                                                                                    \
        for (long i = 0; i < times; i++) {                                                                                        \
            __auto_type line = lines[7];                                                                                          \
            _Pragma("GCC unroll 16") for (int u = 0; u < 16; u++) {                                                               \
                STORES(n);                                                                                                       \
                if (publishes) atomic_store_explicit(&line[0].value, 1, memory_order_release);                                   \
                __asm__ volatile("");                                                                                            \
            }                                                                                                                    \
        }                                                                                                                        \
        return (now() - begin) / times / 16;                                                                                     \
    }
LOOPS(0) LOOPS(1) LOOPS(2) LOOPS(4) LOOPS(8)

static void publish(void) {
    double (*const loops[])(int, long) = {loop_0, loop_1, loop_2, loop_4, loop_8};
    const int behind[] = {0, 1, 2, 4, 8};
    bind(cpus[0]);
    for (int n = 0; n < 5; n++) {
        double all[TIMES];
        for (int i = 0; i < TIMES; i++) all[i] = loops[n](1, 1000) - loops[n](0, 1000);
        char group[32];
        snprintf(group, sizeof group, "behind_%d_stores", behind[n]);
        print("cpu.atomic.publish_release", "-", "-", 1, group, median(all, TIMES));
    }
}

/* A chain of additions of registers on each CPU. */
static void speed(void) {
    for (int i = 0; i < count; i++) {
        double all[TIMES];
        bind(cpus[i]);
        for (int t = 0; t < TIMES; t++) {
            uint64_t sum = 0, one = 1;
            double begin = now();
            for (int k = 0; k < 1000; k++) __asm__ volatile(".rept 64\n add %1, %0\n .endr" : "+r"(sum) : "r"(one));
            all[t] = (now() - begin) / 64000;
        }
        char group[32];
        snprintf(group, sizeof group, "cpu_%d", cpus[i]);
        print("cpu.core.addition", "-", "-", 1, group, median(all, TIMES));
    }
}

int main(int argc, char **argv) {
    static const struct { const char *name; void (*run)(void); } modes[] = {
        {"openmp", openmp}, {"budget", budget}, {"shared", shared}, {"flat", flat}, {"publish", publish}, {"speed", speed},
    };
    for (int i = 2; i < argc && count < MOST; i++) cpus[count++] = atoi(argv[i]);
    for (unsigned m = 0; argc > 2 && m < sizeof modes / sizeof *modes; m++)
        if (!strcmp(argv[1], modes[m].name)) { modes[m].run(); return 0; }
    fprintf(stderr, "usage: roles openmp|budget|shared|flat|publish|speed CPU...\n");
    return 2;
}
