/* What synchronization costs on CPUs, as a program would find out: rows of `syncscope run`, by a program that knows nothing of it.
 *
 *     rows threads|wakes|openmp|work CPU...
 *
 * Prints `figure ID DTYPE LAYOUT THREADS GROUP NS CYCLES SLOWEST`, `-` for what does not apply. One thread repeats an operation; a team
 * repeats it until a common window is over, and NS is the window by the mean count, SLOWEST by the least; barriers and hand-offs have
 * loops of fixed work; wake-ups are single ones. Every figure is the median over rounds in which all rows take turns.
 * `work` times the same with the work that programs have around it: `figure` lines whose ID begins with `work.`. */
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
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef ROUNDS
#define ROUNDS 120
#endif
enum { MOST = 64, LINES = 64, MOST_FIGURES = 256, UNROLL = 16, BIG = 16 << 20 };
static int cpus[MOST], cpu_count, now_in_round;

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

static long switches(void) {
    struct rusage usage;
    return getrusage(RUSAGE_THREAD, &usage) ? 0 : usage.ru_nivcsw;
}

/* Figures: the values of all rounds, by name. */
static struct figure {
    char name[96];
    int count;
    double ns[4096], cycles[4096], slowest[4096];
} figures[MOST_FIGURES];

static void keep(const char *name, double ns, double cycles, double slowest) {
    struct figure *f = figures;
    while (f->name[0] && strcmp(f->name, name)) f++;
    if (f == figures + MOST_FIGURES || f->count == 4096) return;
    snprintf(f->name, sizeof f->name, "%s", name);
    f->ns[f->count] = ns, f->cycles[f->count] = cycles, f->slowest[f->count] = slowest, f->count++;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(const double *values, int count, double share) {
    static double sorted[4096];
    memcpy(sorted, values, count * sizeof *values);
    qsort(sorted, count, sizeof *sorted, by_value);
    return sorted[(int)(share * (count - 1) + 0.5)];
}

static void print(void) {
    for (struct figure *f = figures; f < figures + MOST_FIGURES && f->name[0]; f++)
        printf("figure %s %.3f %.3f %.3f quartiles %.3f %.3f of %d\n", f->name, quantile(f->ns, f->count, 0.5), quantile(f->cycles, f->count, 0.5),
               quantile(f->slowest, f->count, 0.5), quantile(f->ns, f->count, 0.25), quantile(f->ns, f->count, 0.75), f->count);
}

/* One thread. */

static struct line { _Alignas(128) _Atomic int32_t word; _Alignas(8) _Atomic int32_t ticket; uint64_t guarded; } lines[LINES];
/* What a lock protects stands on its line, or (`apart`) on one of its own. */
static struct { _Alignas(128) pthread_mutex_t mutex; uint64_t by_mutex; _Alignas(128) pthread_spinlock_t spin; uint64_t by_spin; } locks[LINES];
static struct { _Alignas(128) uint64_t word; } guarded_apart[LINES];
static int apart;
static _Alignas(128) _Atomic uint64_t sums[LINES];

#define FOUR(op) op op op op
#define SIXTEEN(op) FOUR(FOUR(op))
#define CHAIN 4096

/* Cycles in a nanosecond: additions that need each other, one a cycle. */
static double cycles_per_ns(void) {
    uint64_t value = 3;
    double best = 1e99;
    for (int i = 0; i < 3; i++) {
        double begin = now();
        for (int j = 0; j < CHAIN; j++) { SIXTEEN(__asm__ volatile("add %0, %0" : "+r"(value));) }
        double took = now() - begin;
        if (took < best) best = took;
    }
    return 16.0 * CHAIN / best;
}

/* Whether the core is this thread's alone: eight chains of additions take no longer than three or four after each other. With
 * another hardware thread at work they have half of the adders. */
static int is_alone(void) {
    static double best = 1e99;
    double ratio = 1e99;
    for (int i = 0; i < 4; i++) {
        uint64_t a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8;
        double begin = now();
        for (int j = 0; j < CHAIN; j++) {
            FOUR(__asm__ volatile("add %0, %0; add %1, %1; add %2, %2; add %3, %3; add %4, %4; add %5, %5; add %6, %6; add %7, %7"
                                  : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f), "+r"(g), "+r"(h));)
        }
        double took = (now() - begin) * cycles_per_ns() / (4 * CHAIN);
        if (took < ratio) ratio = took;
    }
    if (ratio < best) best = ratio;
    return ratio < 1.15 * best;
}

/* By its bits: what is found in a `_Atomic double` takes the way over the stack in each try (gcc 12). */
static void add_double(_Atomic uint64_t *sum) {
    uint64_t found = atomic_load_explicit(sum, memory_order_relaxed), next;
    do {
        double value;
        memcpy(&value, &found, sizeof value);
        value += 1;
        memcpy(&next, &value, sizeof next);
    } while (!atomic_compare_exchange_weak_explicit(sum, &found, next, memory_order_relaxed, memory_order_relaxed));
}

static void ttas_take(_Atomic int32_t *held) {
    for (;;) {
        while (atomic_load_explicit(held, memory_order_relaxed)) __builtin_ia32_pause();
        if (!atomic_exchange_explicit(held, 1, memory_order_acquire)) return;
    }
}
static void ttas_give(_Atomic int32_t *held) { atomic_store_explicit(held, 0, memory_order_release); }

static void ticket_take(struct line *l) {
    int32_t mine = atomic_fetch_add_explicit(&l->word, 1, memory_order_relaxed);
    while (atomic_load_explicit(&l->ticket, memory_order_acquire) != mine) {}
}
static void ticket_give(struct line *l) {
    atomic_store_explicit(&l->ticket, atomic_load_explicit(&l->ticket, memory_order_relaxed) + 1, memory_order_release);
}

#define COUNT_OF(number) ++*(volatile uint64_t *)(number);
#define COUNT COUNT_OF(&l->guarded)
#define ONE_THREAD(row) \
    row("cpu.atomic.add i32 shared 1 -", __asm__ volatile("lock incl %0" : "+m"(l->word));) \
    row("cpu.atomic.add u64 shared 1 -", __asm__ volatile("lock incq %0" : "+m"(l->guarded));) \
    row("cpu.atomic.add f64 shared 1 -", add_double(&sums[slot]);) \
    row("cpu.atomic.exchange i32 shared 1 -", { int32_t v = 1; __asm__ volatile("xchgl %0, %1" : "+r"(v), "+m"(l->word)); }) \
    row("cpu.atomic.cas_pass i32 shared 1 -", { int32_t e = 0; __asm__ volatile("lock cmpxchgl %2, %1" : "+a"(e), "+m"(l->word) : "r"(0)); }) \
    row("cpu.fence.seq_cst - - 1 -", __asm__ volatile("lock orl $0, -64(%%rsp)" ::: "memory");) \
    row("cpu.wait.pause - - 1 -", __asm__ volatile("pause");) \
    row("cpu.wait.sched_yield - - 1 -", sched_yield();) \
    row("cpu.lock.pthread_mutex u64 shared 1 -", pthread_mutex_lock(&locks[slot].mutex); COUNT_OF(&locks[slot].by_mutex) pthread_mutex_unlock(&locks[slot].mutex);) \
    row("cpu.lock.pthread_spin u64 shared 1 -", pthread_spin_lock(&locks[slot].spin); COUNT_OF(&locks[slot].by_spin) pthread_spin_unlock(&locks[slot].spin);) \
    row("cpu.lock.ttas u64 shared 1 -", ttas_take(&l->word); COUNT ttas_give(&l->word);) \
    row("cpu.lock.ticket u64 shared 1 -", ticket_take(l); COUNT ticket_give(l);)

/* The loop with the operation sixteen times, less a loop of eight: what surrounds it cancels. It counts where the thread had its core for
 * itself before and after. */
static void one_thread(void) {
    int slot = now_in_round % LINES;
    struct line *l = &lines[slot];
    int alone = is_alone();
#define MEASURE(name, op) { \
        l->word = l->ticket = 0; \
        long count = 1; \
        double took = 0, less = 0, hz = 0; \
        for (int pass = 0; pass < 2; pass++) \
            do { \
                if (!pass) count *= 2; \
                double a = now(); \
                for (long i = 0; i < count; i++) { SIXTEEN(op) } \
                double b = now(); \
                for (long i = 0; i < count; i++) { FOUR(op) FOUR(op) } \
                double c = now(); \
                took = b - a, less = c - b; \
            } while (!pass && took < 60000); \
        hz = cycles_per_ns(); \
        double ns = (took - less) / count / 8; \
        if (alone && is_alone()) keep(name, ns, ns * hz, ns); \
        alone = is_alone(); \
    }
    ONE_THREAD(MEASURE)
}

/* Teams in a window. */

enum team_op { ADD, ADD_F64, FALSE_SHARING, TTAS, TICKET, MUTEX, SPIN, TEAM_OPS };
static const char *const team_names[TEAM_OPS] = {
    "cpu.atomic.add i32 shared", "cpu.atomic.add f64 shared", "cpu.atomic.add i32 private/1", "cpu.lock.ttas u64 shared",
    "cpu.lock.ticket u64 shared", "cpu.lock.pthread_mutex u64 shared", "cpu.lock.pthread_spin u64 shared"};
static struct member {
    _Alignas(128) int number;
    pthread_t handle;
    long interrupted;
    double ns;
    uint64_t count;
} members[MOST];
/* 1: the run-in is over; 2: the window is. */
static _Alignas(128) atomic_int waiting, stop;
static _Alignas(128) _Atomic int32_t elements[LINES][MOST];
static enum team_op team_op;
static double window_ns;
static const double RUN_IN_NS = 4e5;
/* Lines that the holder of a lock changes. */
static int inside;
static struct { _Alignas(64) volatile uint64_t word; } protected[64];

static void meet(void) {
    atomic_fetch_sub(&waiting, 1);
    while (atomic_load(&waiting) > 0) __builtin_ia32_pause();
}

#define UNTIL_STOPPED(op) \
    do { \
        op op op op op op op op op op op op op op op op \
        count += 16; \
        if (self->number == 0 && (count & 63) == 0 && now() - begin > (level == 1 ? RUN_IN_NS : window_ns)) atomic_store(&stop, level); \
    } while (atomic_load_explicit(&stop, memory_order_relaxed) < level)
#define WORK for (int w = 0; w < inside; w++) protected[w].word++;

static void *contend(void *argument) {
    struct member *self = argument;
    bind(cpus[self->number]);
    int slot = now_in_round % LINES;
    struct line *l = &lines[slot];
    _Atomic int32_t *own = &elements[slot][self->number];
    uint64_t *beside = team_op == MUTEX ? &locks[slot].by_mutex : team_op == SPIN ? &locks[slot].by_spin : &l->guarded;
    uint64_t *number = apart ? &guarded_apart[slot].word : beside;
    uint64_t count;
    double begin;
    meet();
    self->interrupted = -switches();
    /* Threads of a mutex spin at first, and then take turns to sleep. */
    for (int level = 1; level <= 2; level++) {
        count = 0, begin = now();
        switch (team_op) {
        case ADD: UNTIL_STOPPED(__asm__ volatile("lock incl %0" : "+m"(l->word));); break;
        case ADD_F64: UNTIL_STOPPED(add_double(&sums[slot]);); break;
        case FALSE_SHARING: UNTIL_STOPPED(__asm__ volatile("lock incl %0" : "+m"(*own));); break;
        case TTAS: UNTIL_STOPPED(ttas_take(&l->word); COUNT_OF(number) WORK ttas_give(&l->word);); break;
        case TICKET: UNTIL_STOPPED(ticket_take(l); COUNT_OF(number) WORK ticket_give(l);); break;
        case MUTEX: UNTIL_STOPPED(pthread_mutex_lock(&locks[slot].mutex); COUNT_OF(number) WORK pthread_mutex_unlock(&locks[slot].mutex);); break;
        default: UNTIL_STOPPED(pthread_spin_lock(&locks[slot].spin); COUNT_OF(number) WORK pthread_spin_unlock(&locks[slot].spin););
        }
    }
    self->ns = now() - begin;
    self->count = count;
    self->interrupted += switches();
    return NULL;
}

static void *(*job)(void *);
static long together(int count) {
    long interrupted = 0;
    atomic_store(&stop, 0);
    atomic_store(&waiting, count);
    for (int i = 0; i < count; i++) {
        members[i].number = i;
        if (pthread_create(&members[i].handle, NULL, job, &members[i])) { perror("pthread_create"); exit(1); }
    }
    for (int i = 0; i < count; i++) { pthread_join(members[i].handle, NULL); interrupted += members[i].interrupted; }
    return interrupted;
}

static void team(enum team_op op, int count, double length, const char *suffix) {
    char name[96];
    team_op = op, window_ns = length, job = contend;
    lines[now_in_round % LINES].word = lines[now_in_round % LINES].ticket = 0;
    if (together(count)) return;
    double rate = 0, slowest = 0;
    for (int i = 0; i < count; i++) {
        double each = members[i].ns / members[i].count;
        rate += 1 / each;
        if (each > slowest) slowest = each;
    }
    snprintf(name, sizeof name, "%s %d %s", team_names[op], count, suffix);
    keep(name, count / rate, 0, slowest);
}

/* Loops of fixed work: barriers and hand-offs. */

static pthread_barrier_t barrier;
static _Alignas(128) _Atomic uint32_t turn;
static long passes;
/* Lines that each thread changes between two barriers, and the next one reads. */
static int lines_between;
static struct { _Alignas(64) volatile uint64_t word; } between[MOST][64];
static uint64_t read_between(int thread, int count) {
    uint64_t sum = 0;
    for (int i = 0; i < lines_between; i++) between[thread][i].word++;
    for (int i = 0; i < lines_between; i++) sum += between[(thread + 1) % count][i].word;
    return sum;
}

static void *pass_barrier(void *argument) {
    struct member *self = argument;
    bind(cpus[self->number]);
    meet();
    self->interrupted = -switches();
    pthread_barrier_wait(&barrier);
    double begin = now();
    for (long i = 0; i < passes; i++) pthread_barrier_wait(&barrier);
    self->ns = now() - begin;
    /* A wait that sleeps is a voluntary switch. */
    self->interrupted += switches();
    return NULL;
}

static void *pass_turn(void *argument) {
    struct member *self = argument;
    bind(cpus[self->number]);
    uint32_t me = self->number;
    meet();
    self->interrupted = -switches();
    double begin = now();
    for (long i = 0; i < passes; i++) {
        uint32_t expected = 2 * i + me;
        if (team_op == ADD) {
            /* As a compare-and-swap that tries until it is its turn. */
            uint32_t e = expected;
            while (!atomic_compare_exchange_weak(&turn, &e, expected + 1)) e = expected;
        } else {
            while (atomic_load_explicit(&turn, memory_order_acquire) != expected) {}
            atomic_store_explicit(&turn, expected + 1, memory_order_release);
        }
    }
    self->ns = now() - begin;
    self->interrupted += switches();
    return NULL;
}

static double slowest_of(int count) {
    double most = 0;
    for (int i = 0; i < count; i++) if (members[i].ns > most) most = members[i].ns;
    return most;
}

static void fixed(void) {
    char name[96];
    for (int count = 2; count <= cpu_count; count *= 2) {
        pthread_barrier_init(&barrier, NULL, count);
        passes = 64, job = pass_barrier;
        if (together(count)) continue;
        snprintf(name, sizeof name, "cpu.barrier.pthread - - %d -", count);
        keep(name, slowest_of(count) / passes, 0, slowest_of(count) / passes);
    }
    for (int cas = 0; cas < 2; cas++) {
        team_op = cas ? ADD : TTAS, passes = 1000, job = pass_turn, turn = 0;
        if (together(2)) continue;
        double ns = slowest_of(2) / passes / 2;
        keep(cas ? "cpu.handoff.cas_pingpong - - 2 -" : "cpu.handoff.store_pingpong - - 2 -", ns, 0, ns);
    }
}

/* Wake-ups by the length of the sleep. */

enum { WAKE_UPS = 12 };
static _Alignas(128) _Atomic uint32_t announced, seen, word;
static _Alignas(128) double called, woken;
static int events = -1, by_event;
static char *big[2];
static long touched;
static volatile char sink;

static void touch(char *memory, long bytes) {
    for (long i = 0; i < bytes; i += 64) memory[i]++;
}

static void *sleeper(void *argument) {
    struct member *self = argument;
    bind(cpus[1]);
    for (uint32_t i = 1; i <= WAKE_UPS; i++) {
        atomic_store(&announced, i);
        if (by_event) {
            uint64_t value;
            if (read(events, &value, sizeof value) != sizeof value) exit(1);
        } else {
            while (atomic_load(&word) != i) syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, i - 1, 0, 0, 0);
        }
        woken = now();
        atomic_store(&seen, i);
    }
    return self;
}

static void wakes(int us, const char *name) {
    pthread_t handle;
    double reading = 1e99;
    for (int i = 0; i < 100; i++) { double a = now(), b = now(); if (b - a < reading) reading = b - a; }
    announced = seen = word = 0;
    bind(cpus[0]);
    pthread_create(&handle, NULL, sleeper, members);
    for (uint32_t i = 1; i <= WAKE_UPS; i++) {
        while (atomic_load(&announced) != i) __builtin_ia32_pause();
        double from = now();
        while (now() - from < us * 1e3) __builtin_ia32_pause();
        if (touched) touch(big[0], touched);
        called = now();
        uint64_t one = 1;
        if (by_event) {
            if (write(events, &one, sizeof one) != sizeof one) exit(1);
        } else {
            atomic_store_explicit(&word, i, memory_order_release);
            syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
        }
        while (atomic_load(&seen) != i) __builtin_ia32_pause();
        /* The first one finds a new thread. */
        if (i > 1) keep(name, woken - called - reading, 0, woken - called - reading);
    }
    pthread_join(handle, NULL);
}

static void all_wakes(void) {
    static const int lengths[] = {20, 200, 2000};
    char name[96];
    for (by_event = 0; by_event < 2; by_event++)
        for (int i = 0; i < 3; i++) {
            snprintf(name, sizeof name, "cpu.wake.%s - - 2 asleep_%d_us", by_event ? "eventfd" : "futex", lengths[i]);
            if (i < 2 || now_in_round % 6 == 0) wakes(lengths[i], name);
        }
    by_event = 0;
}

/* OpenMP, in a process of its own: its threads spin between regions. */

static double omp_barriers(int threads, long count, int with_barrier) {
    double most = 0;
    #pragma omp parallel num_threads(threads)
    {
        int me = omp_get_thread_num();
        bind(cpus[me]);
        #pragma omp barrier
        double begin = now();
        uint64_t sum = 0;
        for (long i = 0; i < count; i++) {
            if (lines_between) sum += read_between(me, threads);
            if (with_barrier) {
                #pragma omp barrier
            }
        }
        double took = now() - begin;
        sink = sum;
        #pragma omp critical
        if (took > most) most = took;
    }
    return most;
}

static double omp_critical(int threads, long count) {
    double most = 0;
    static uint64_t counter;
    #pragma omp parallel num_threads(threads)
    {
        bind(cpus[omp_get_thread_num()]);
        #pragma omp barrier
        double begin = now();
        for (long i = 0; i < count; i++) {
            #pragma omp critical(timed)
            ++*(volatile uint64_t *)&counter;
        }
        double took = now() - begin;
        #pragma omp critical
        if (took > most) most = took;
    }
    return most;
}

static void openmp(void) {
    char name[96];
    for (int count = 2; count <= cpu_count; count *= 2) {
        long each = 400;
        double ns = omp_barriers(count, each, 1) / each;
        snprintf(name, sizeof name, "cpu.barrier.openmp - - %d libgomp", count);
        keep(name, ns, 0, ns);
        static const int lines_each[] = {1, 16, 64};
        for (int i = 0; i < 3; i++) {
            lines_between = lines_each[i];
            double with = omp_barriers(count, each, 1) / each, without = omp_barriers(count, each, 0) / each;
            snprintf(name, sizeof name, "work.barrier.openmp %d_lines - %d libgomp", lines_between, count);
            keep(name, with, 0, without);
        }
        lines_between = 0;
    }
    double ns = omp_critical(1, 4000) / 4000;
    keep("cpu.lock.openmp_critical u64 shared 1 libgomp", ns, 0, ns);
}

/* The same with work around it. */

#define FENCE __asm__ volatile("lock orl $0, -64(%%rsp)" ::: "memory");
static void fences(long bytes, int stores, const char *name) {
    /* `stores` stores to lines of a region, then the fence or nothing. */
    double took[3];
    char *memory = big[0];
    long mask = bytes - 1, count = 2000;
    static uint64_t at;
    if (bytes <= 1 << 20) for (int i = 0; i < 2; i++) touch(memory, bytes);
    /* The first pass does not count. */
    for (int pass = 0; pass < 3; pass++) {
        int fenced = pass == 2;
        double begin = now();
        for (long i = 0; i < count; i++) {
            for (int s = 0; s < stores; s++) { *(volatile uint64_t *)(memory + (at & mask)) = i; at += 64 * 67; }
            if (fenced) FENCE
        }
        took[pass] = now() - begin;
    }
    keep(name, (took[2] - took[1]) / count, 0, took[1] / count);
}

static void work(void) {
    char name[96];
    bind(cpus[0]);
    fences(64, 0, "work.fence.seq_cst no_store - 1 -");
    fences(64, 1, "work.fence.seq_cst 1_store_in_64_bytes - 1 -");
    fences(64, 8, "work.fence.seq_cst 8_stores_in_64_bytes - 1 -");
    fences(16 << 10, 1, "work.fence.seq_cst 1_store_in_16_KiB - 1 -");
    fences(16 << 10, 8, "work.fence.seq_cst 8_stores_in_16_KiB - 1 -");
    fences(1 << 20, 1, "work.fence.seq_cst 1_store_in_1_MiB - 1 -");
    fences(1 << 20, 8, "work.fence.seq_cst 8_stores_in_1_MiB - 1 -");
    fences(BIG, 1, "work.fence.seq_cst 1_store_in_16_MiB - 1 -");
    fences(BIG, 8, "work.fence.seq_cst 8_stores_in_16_MiB - 1 -");
    for (int count = 1; count <= cpu_count; count *= 4) {
        int threads = count == 1 ? 2 : count;
        if (threads > cpu_count) break;
        for (int op = TTAS; op < TEAM_OPS; op++)
            for (inside = 0; inside <= 16; inside = inside ? inside * 4 : 1) {
                snprintf(name, sizeof name, "-inside_%d_lines", inside);
                team(op, threads, 8e5, name);
            }
        inside = 0;
    }
    apart = 1;
    for (int threads = 2; threads <= cpu_count; threads *= 2)
        for (int op = TTAS; op < TEAM_OPS; op++) team(op, threads, 8e5, "-number_apart");
    apart = 0;
    for (int threads = 2; threads <= cpu_count; threads *= 2)
        for (int op = TTAS; op < TEAM_OPS; op++) team(op, threads, 8e5, "-number_beside");
    /* What the work inside costs one thread. */
    for (inside = 0; inside <= 16; inside = inside ? inside * 4 : 1) {
        snprintf(name, sizeof name, "-inside_%d_lines", inside);
        team(TTAS, 1, 2e5, name);
    }
    inside = 0;
    /* The window: what the slowest thread pays. */
    for (int op = TTAS; op < TEAM_OPS; op++) {
        team(op, cpu_count, 2e5, "-window_0.2_ms");
        team(op, cpu_count, 4e6, "-window_4_ms");
    }
    team(ADD_F64, cpu_count, 2e5, "-window_0.2_ms");
    team(ADD_F64, cpu_count, 4e6, "-window_4_ms");
    touched = 256 << 10;
    wakes(20, "work.wake.futex waker_wrote_256_KiB - 2 asleep_20_us");
    wakes(200, "work.wake.futex waker_wrote_256_KiB - 2 asleep_200_us");
    touched = 8 << 20;
    wakes(20, "work.wake.futex waker_wrote_8_MiB - 2 asleep_20_us");
    touched = 0;
    wakes(20, "work.wake.futex waker_wrote_nothing - 2 asleep_20_us");
    wakes(200, "work.wake.futex waker_wrote_nothing - 2 asleep_200_us");
}

int main(int count, char **words) {
    if (count < 4 || count > MOST + 2) { fprintf(stderr, "usage: rows threads|wakes|openmp|work CPU CPU...\n"); return 2; }
    cpu_count = count - 2;
    for (int i = 0; i < cpu_count; i++) cpus[i] = atoi(words[i + 2]);
    for (int i = 0; i < 2; i++) { big[i] = malloc(BIG); memset(big[i], 1, BIG); }
    for (int i = 0; i < LINES; i++) { pthread_mutex_init(&locks[i].mutex, NULL); pthread_spin_init(&locks[i].spin, 0); }
    events = eventfd(0, 0);
    /* A process of OpenMP has one address of its barrier: several processes of few rounds say more. */
    int is_work = !strcmp(words[1], "work"), is_openmp = !strcmp(words[1], "openmp"), is_wakes = !strcmp(words[1], "wakes");
    for (now_in_round = 0; now_in_round < (is_work || is_openmp ? 16 : ROUNDS); now_in_round++) {
        if (is_openmp) { openmp(); continue; }
        if (is_work) { work(); continue; }
        if (is_wakes) { all_wakes(); continue; }
        /* Other guests may use the other hardware thread of one core all the time. */
        bind(cpus[now_in_round % cpu_count]);
        one_thread();
        bind(cpus[0]);
        for (int threads = 2; threads <= cpu_count; threads *= 2)
            for (int op = 0; op < TEAM_OPS; op++) team(op, threads, 8e5, "-");
        fixed();
        all_wakes();
    }
    print();
    return 0;
}
