// A hash table of counters, as for words or network flows: threads count random keys. Each stripe of the table has a
// lock of its own, in one cache line with its counters.
//
//   table threads=4 stripes=1024 work=100 keys=4000 rounds=7
//
// `work` is what a thread does between two keys, in ns; with `chained=1` it needs the counter
// of the key before, so the thread cannot run ahead. Without synchronization (`none`) each thread has a table of its
// own, and nothing is shared.
//
// What the rows of a run predict for a key: a free lock costs what it costs one thread, and its cache line comes from
// the thread that had it last, which is a hand-off. If all contend for one stripe, the row with that work outside, less
// the work, if its interval lies above. Rows of contended locks without work answer neither question.
//
// build: cc -O2 -pthread
// rows: --preset standard --only cpu.lock.pthread_mutex,cpu.lock.ticket --dtype u64 --placement close --threads 1,2,4,16 --outside 0,500ns,2us
// rows: --preset standard --only cpu.handoff.cas_pingpong --placement close
// conditions: threads=1,2,4,16 stripes=1024 work=100 chained=0,1
// conditions: threads=2,4,16 stripes=1 work=500,2000
// let cold = (threads - 1) / threads * cpu.handoff.cas_pingpong[threads=2]
// let mutex_alone = cpu.lock.pthread_mutex[threads=1] + cold
// let ticket_alone = cpu.lock.ticket[threads=1] + cold
// predict mutex = mutex_alone if stripes > 16 * threads else beyond(cpu.lock.pthread_mutex[threads=threads outside=work] - work, mutex_alone)
// predict ticket = ticket_alone if stripes > 16 * threads else beyond(cpu.lock.ticket[threads=threads outside=work] - work, ticket_alone)
// contrast mutex = cpu.lock.pthread_mutex[threads=threads]
// contrast ticket = cpu.lock.ticket[threads=threads]
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

enum { MOST_THREADS = 256, COUNTERS = 3 };

struct stripe {
    _Alignas(64) union {
        pthread_mutex_t mutex;
        struct {
            atomic_uint next, served;
        } ticket;
    };
    uint64_t counters[COUNTERS];
};

static long threads, stripes, work, keys, chained;

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

static void none(struct stripe *stripe) { (void)stripe; }
static void mutex_lock(struct stripe *stripe) { pthread_mutex_lock(&stripe->mutex); }
static void mutex_unlock(struct stripe *stripe) { pthread_mutex_unlock(&stripe->mutex); }

// First come, first served.
static void ticket_lock(struct stripe *stripe) {
    const unsigned mine = atomic_fetch_add_explicit(&stripe->ticket.next, 1, memory_order_relaxed);
    unsigned spins = 0;
    while (atomic_load_explicit(&stripe->ticket.served, memory_order_acquire) != mine) pause_or_yield(&spins);
}

static void ticket_unlock(struct stripe *stripe) {
    const unsigned mine = atomic_load_explicit(&stripe->ticket.served, memory_order_relaxed);
    atomic_store_explicit(&stripe->ticket.served, mine + 1, memory_order_release);
}

static const struct variant {
    const char *name;
    void (*lock)(struct stripe *), (*unlock)(struct stripe *);
} variants[] = {
    {"none", none, none},
    {"mutex", mutex_lock, mutex_unlock},
    {"ticket", ticket_lock, ticket_unlock},
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
    struct stripe *table;
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

static void *count_keys(void *argument) {
    struct member *self = argument;
    uint64_t key = busy((uint64_t)self->me, 3);
    pin(self->me);
    start_together();
    self->start = now();
    for (long at = 0; at < keys; at++) {
        key = busy(key, self->steps + 1);
        struct stripe *stripe = &self->table[(key >> 33) % (uint64_t)stripes];
        self->variant->lock(stripe);
        const uint64_t count = ++stripe->counters[(key >> 20) % COUNTERS];
        self->variant->unlock(stripe);
        if (chained) {
            __asm__ volatile("");  // A branch, so that without `chained` nothing waits for the counter.
            key += count >> 63;    // 0
        }
    }
    self->end = now();
    return NULL;
}

// From the start of the first thread to the end of the last one; `counted` is the sum of all counters.
static int64_t run(const struct variant *variant, struct stripe *tables, long steps, uint64_t *counted) {
    static pthread_t handles[MOST_THREADS];
    static struct member team[MOST_THREADS];
    memset(tables, 0, threads * stripes * sizeof *tables);
    atomic_store(&not_ready, threads);
    for (long me = 0; me < threads; me++) {
        struct stripe *table = tables + (variant->lock == none ? me * stripes : 0);
        team[me] = (struct member){.me = me, .steps = steps, .variant = variant, .table = table};
        if (pthread_create(&handles[me], NULL, count_keys, &team[me])) {
            perror("table: pthread_create");
            exit(1);
        }
    }
    int64_t start = INT64_MAX, end = 0;
    for (long me = 0; me < threads; me++) {
        pthread_join(handles[me], NULL);
        if (team[me].start < start) start = team[me].start;
        if (team[me].end > end) end = team[me].end;
    }
    *counted = 0;
    for (long at = 0; at < threads * stripes; at++)
        for (int counter = 0; counter < COUNTERS; counter++) *counted += tables[at].counters[counter];
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
    stripes = option(count, arguments, "stripes", 1024);
    work = option(count, arguments, "work", 100);
    chained = option(count, arguments, "chained", 0);
    keys = option(count, arguments, "keys", 4000);
    const long rounds = option(count, arguments, "rounds", 7);
    if (threads < 1 || threads > MOST_THREADS || stripes < 1 || work < 0 || keys < 1) {
        fprintf(stderr, "table: 1 to %d threads, 1 stripe and 1 key or more\n", MOST_THREADS);
        return 2;
    }
    struct stripe *tables = aligned_alloc(_Alignof(struct stripe), threads * stripes * sizeof *tables);
    if (!tables) {
        perror("table: aligned_alloc");
        return 1;
    }
    const long steps = steps_of(work);
    puts("round,variant,synchronizations,ns,right,sleeps");
    for (long round = 0; round < rounds; round++)
        for (size_t at = 0; at < sizeof variants / sizeof *variants; at++) {
            uint64_t counted;
            const long slept = sleeps();
            const int64_t ns = run(&variants[at], tables, steps, &counted);
            const int right = counted == (uint64_t)(threads * keys);
            printf("%ld,%s,%ld,%lld,%s,%ld\n", round, variants[at].name, keys, (long long)ns, right ? "yes" : "no",
                   (sleeps() - slept) / threads);
        }
    return 0;
}
