// A loop whose threads take the next iteration from one shared counter, as OpenMP's schedule(dynamic) and thread pools
// do.
//
//   loop threads=4 work=500 iterations=4000 rounds=7
//
// `iterations` are each thread's share, `work` is what one takes, in ns. Without synchronization (`none`) each thread
// has its share of the iterations from the start, as with schedule(static).
//
// What the rows of a run predict for an iteration of a thread: threads with equal work come in turn, so the cache line
// comes from another thread each time: the addition of one thread, or the lock of one, and a hand-off. If the threads
// queue, each waits until the line has been with all others, and works meanwhile; of the mutex there is a row with that
// work outside. In the row of contended additions without work a thread keeps the line for several.
//
// build: cc -O2 -pthread
// rows: --preset standard --only cpu.lock.pthread_mutex,cpu.lock.ticket --dtype u64 --placement close --threads 1,2,4,16 --outside 0,500ns,2us
// rows: --preset standard --only cpu.atomic.add_capture --dtype u64 --placement close --threads 1,2,4,16
// rows: --preset standard --only cpu.handoff.cas_pingpong --placement close
// conditions: threads=2,4,16 work=100,500,2000
// let handoff = cpu.handoff.cas_pingpong[threads=2]
// predict atomic = max(cpu.atomic.add_capture[threads=1 layout=shared mode=latency] + handoff, threads * handoff - work)
// predict mutex = beyond(cpu.lock.pthread_mutex[threads=threads outside=work] - work, cpu.lock.pthread_mutex[threads=1] + handoff)
// contrast atomic = cpu.atomic.add_capture[threads=threads layout=shared mode=latency]
// contrast mutex = cpu.lock.pthread_mutex[threads=threads]
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { MOST_THREADS = 256 };

static long threads, work, iterations;
static struct {
    _Alignas(64) atomic_long next;
} shared;
static struct {
    _Alignas(64) pthread_mutex_t mutex;
    long next;
} guarded = {.mutex = PTHREAD_MUTEX_INITIALIZER};

// Waits politely: a core with more threads than it can run at once must let the others run.
static void pause_or_yield(unsigned *spins) {
    if (++*spins % 4096 == 0) sched_yield();
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

// Threads start within a hand-off of each other, not within a wake-up.
static atomic_long not_ready;

static void start_together(void) {
    unsigned spins = 0;
    atomic_fetch_sub(&not_ready, 1);
    while (atomic_load(&not_ready) > 0) pause_or_yield(&spins);
}

static long atomic_next(long before) {
    (void)before;
    return atomic_fetch_add_explicit(&shared.next, 1, memory_order_relaxed);
}

static long mutex_next(long before) {
    (void)before;
    pthread_mutex_lock(&guarded.mutex);
    const long next = guarded.next++;
    pthread_mutex_unlock(&guarded.mutex);
    return next;
}

// Every thread begins with its number, so each iteration has one thread.
static long none_next(long before) { return before + threads; }

static const struct variant {
    const char *name;
    long (*next)(long before);
} variants[] = {
    {"none", none_next},
    {"atomic", atomic_next},
    {"mutex", mutex_next},
};

// How often threads of this process have slept so far.
static long sleeps(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_nvcsw;
}

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000ll + time.tv_nsec;
}

// Each step of the chain needs the one before.
static uint64_t busy(uint64_t state, long steps) {
    while (steps-- > 0) state = state * 6364136223846793005u + 1442695040888963407u;
    return state;
}

// How many steps take `ns`, by the fastest of several trials.
static long steps_of(long ns) {
    const long trial = 200000;
    int64_t fastest = INT64_MAX;
    for (int turn = 0; turn < 20; turn++) {
        const int64_t start = now();
        __asm__ volatile("" ::"r"(busy(turn, trial)));
        const int64_t took = now() - start;
        if (took < fastest) fastest = took;
    }
    return (long)((double)ns * trial / (double)fastest);
}

struct member {
    long me, steps;
    const struct variant *variant;
    uint64_t sum;
    int64_t start, end;
};

// Thread `me` runs on the allowed CPU of that number, as a run's placement `close` has it where cores have one thread.
static void pin(long me) {
    cpu_set_t allowed, one;
    sched_getaffinity(0, sizeof allowed, &allowed);
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &allowed) && me-- == 0) CPU_SET(cpu, &one);
    if (CPU_COUNT(&one) == 1) sched_setaffinity(0, sizeof one, &one);
}

static void *iterate(void *argument) {
    struct member *self = argument;
    uint64_t state = 1;
    pin(self->me);
    start_together();
    self->start = now();
    for (long at = self->me - threads; (at = self->variant->next(at)) < iterations;) {
        state = busy(state + at, self->steps);
        self->sum += at;
    }
    self->end = now();
    __asm__ volatile("" ::"r"(state));
    return NULL;
}

// From the start of the first thread to the end of the last one.
static int64_t run(const struct variant *variant, long steps, uint64_t *sum) {
    static pthread_t handles[MOST_THREADS];
    static struct member team[MOST_THREADS];
    atomic_store(&shared.next, 0);
    guarded.next = 0;
    atomic_store(&not_ready, threads);
    for (long me = 0; me < threads; me++) {
        team[me] = (struct member){.me = me, .steps = steps, .variant = variant};
        if (pthread_create(&handles[me], NULL, iterate, &team[me])) {
            perror("loop: pthread_create");
            exit(1);
        }
    }
    int64_t start = INT64_MAX, end = 0;
    *sum = 0;
    for (long me = 0; me < threads; me++) {
        pthread_join(handles[me], NULL);
        if (team[me].start < start) start = team[me].start;
        if (team[me].end > end) end = team[me].end;
        *sum += team[me].sum;
    }
    return end - start;
}

static long option(int count, char **arguments, const char *name, long fallback) {
    const size_t length = strlen(name);
    for (int at = 1; at < count; at++)
        if (strncmp(arguments[at], name, length) == 0 && arguments[at][length] == '=')
            return atol(arguments[at] + length + 1);
    return fallback;
}

int main(int count, char **arguments) {
    threads = option(count, arguments, "threads", 2);
    work = option(count, arguments, "work", 500);
    iterations = threads * option(count, arguments, "iterations", 4000);
    const long rounds = option(count, arguments, "rounds", 7);
    if (threads < 1 || threads > MOST_THREADS || work < 0 || iterations < 1) {
        fprintf(stderr, "loop: 1 to %d threads, 1 iteration or more\n", MOST_THREADS);
        return 2;
    }
    const long steps = steps_of(work);
    puts("round,variant,synchronizations,ns,right,sleeps");
    for (long round = 0; round < rounds; round++)
        for (size_t at = 0; at < sizeof variants / sizeof *variants; at++) {
            uint64_t sum;
            const long slept = sleeps();
            const int64_t ns = run(&variants[at], steps, &sum);
            const int right = sum == (uint64_t)(iterations * (iterations - 1) / 2);
            printf("%ld,%s,%ld,%lld,%s,%ld\n", round, variants[at].name, iterations / threads, (long long)ns,
                   right ? "yes" : "no", (sleeps() - slept) / threads);
        }
    return 0;
}
