// A bounded queue between producers and consumers: a ring of items under one lock. Half of the threads make items, the
// other half takes them; who finds the ring full or empty looks again, without the lock, until it is not.
//
//   queue threads=4 work=500 items=4000 rounds=7
//
// `work` is what it takes to make an item, and to use one, in ns. Without synchronization (`none`) each thread passes
// its items to itself, through a ring of its own.
//
// What the rows of a run predict for an item of a thread: a free lock costs what it costs one thread, and three lines
// come from the thread that had them last: the lock's, that of the two counts, and the item's. If all contend, the row
// with that work outside, less the work, if its interval lies above.
//
// build: cc -O2 -pthread
// rows: --preset standard --only cpu.lock.pthread_mutex,cpu.lock.ticket --dtype u64 --placement close --threads 1,2,4,16 --outside 0,500ns,2us
// rows: --preset standard --only cpu.handoff.cas_pingpong --placement close
// conditions: threads=2,4,16 work=500,2000
// let cold = (threads - 1) / threads * cpu.handoff.cas_pingpong[threads=2]
// predict mutex = beyond(cpu.lock.pthread_mutex[threads=threads outside=work] - work, cpu.lock.pthread_mutex[threads=1] + 3 * cold)
// predict ticket = beyond(cpu.lock.ticket[threads=threads outside=work] - work, cpu.lock.ticket[threads=1] + 3 * cold)
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

enum { MOST_THREADS = 256, ROOM = 256 };

struct queue {
    _Alignas(64) union {
        pthread_mutex_t mutex;
        struct {
            atomic_uint next, served;
        } ticket;
    };
    _Alignas(64) atomic_ulong made, used;
    uint64_t items[ROOM];
};

static long threads, work, items;

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

static void none(struct queue *queue) { (void)queue; }
static void mutex_lock(struct queue *queue) { pthread_mutex_lock(&queue->mutex); }
static void mutex_unlock(struct queue *queue) { pthread_mutex_unlock(&queue->mutex); }

// First come, first served.
static void ticket_lock(struct queue *queue) {
    const unsigned mine = atomic_fetch_add_explicit(&queue->ticket.next, 1, memory_order_relaxed);
    unsigned spins = 0;
    while (atomic_load_explicit(&queue->ticket.served, memory_order_acquire) != mine) pause_or_yield(&spins);
}

static void ticket_unlock(struct queue *queue) {
    const unsigned mine = atomic_load_explicit(&queue->ticket.served, memory_order_relaxed);
    atomic_store_explicit(&queue->ticket.served, mine + 1, memory_order_release);
}

static const struct variant {
    const char *name;
    void (*lock)(struct queue *), (*unlock)(struct queue *);
} variants[] = {
    {"none", none, none},
    {"mutex", mutex_lock, mutex_unlock},
    {"ticket", ticket_lock, ticket_unlock},
};

// How many items are in the ring; without the lock, how many there were a moment ago.
static unsigned long filled(struct queue *queue) {
    const unsigned long used = atomic_load_explicit(&queue->used, memory_order_relaxed);
    return atomic_load_explicit(&queue->made, memory_order_relaxed) - used;
}

// Each returns how often it had the lock.
static long put(struct queue *queue, const struct variant *variant, uint64_t item) {
    unsigned spins = 0;
    for (long acquisitions = 1;; acquisitions++) {
        while (filled(queue) >= ROOM) pause_or_yield(&spins);
        variant->lock(queue);
        const int fits = filled(queue) < ROOM;
        if (fits) {
            const unsigned long at = atomic_load_explicit(&queue->made, memory_order_relaxed);
            queue->items[at % ROOM] = item;
            atomic_store_explicit(&queue->made, at + 1, memory_order_relaxed);
        }
        variant->unlock(queue);
        if (fits) return acquisitions;
    }
}

static long take(struct queue *queue, const struct variant *variant, uint64_t *item) {
    unsigned spins = 0;
    for (long acquisitions = 1;; acquisitions++) {
        while (filled(queue) == 0) pause_or_yield(&spins);
        variant->lock(queue);
        const int is_there = filled(queue) > 0;
        if (is_there) {
            const unsigned long at = atomic_load_explicit(&queue->used, memory_order_relaxed);
            *item = queue->items[at % ROOM];
            atomic_store_explicit(&queue->used, at + 1, memory_order_relaxed);
        }
        variant->unlock(queue);
        if (is_there) return acquisitions;
    }
}

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
    long me, steps, acquisitions;
    const struct variant *variant;
    struct queue *queue;
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

static void *pass_items(void *argument) {
    struct member *self = argument;
    const int alone = self->variant->lock == none, makes = self->me % 2 == 0;
    uint64_t item = 0;
    pin(self->me);
    start_together();
    self->start = now();
    for (long at = 0; at < items; at++) {
        if (makes) {
            __asm__ volatile("" ::"r"(busy(item, self->steps)));
            self->acquisitions += put(self->queue, self->variant, at);
            if (alone) take(self->queue, self->variant, &item), self->sum += item;
        } else {
            if (alone) put(self->queue, self->variant, at);
            self->acquisitions += take(self->queue, self->variant, &item);
            self->sum += item;
            __asm__ volatile("" ::"r"(busy(item, self->steps)));
        }
    }
    self->end = now();
    return NULL;
}

// From the start of the first thread to the end of the last one.
static int64_t run(const struct variant *variant, struct queue *queues, long steps, double *acquisitions, int *right) {
    static pthread_t handles[MOST_THREADS];
    static struct member team[MOST_THREADS];
    const int alone = variant->lock == none;
    memset(queues, 0, threads * sizeof *queues);
    atomic_store(&not_ready, threads);
    for (long me = 0; me < threads; me++) {
        team[me] = (struct member){.me = me, .steps = steps, .variant = variant, .queue = queues + (alone ? me : 0)};
        if (pthread_create(&handles[me], NULL, pass_items, &team[me])) {
            perror("queue: pthread_create");
            exit(1);
        }
    }
    int64_t start = INT64_MAX, end = 0;
    long had = 0;
    uint64_t sum = 0;
    for (long me = 0; me < threads; me++) {
        pthread_join(handles[me], NULL);
        if (team[me].start < start) start = team[me].start;
        if (team[me].end > end) end = team[me].end;
        had += team[me].acquisitions;
        sum += team[me].sum;
    }
    *acquisitions = (double)had / (double)threads;
    *right = sum == (uint64_t)(alone ? threads : threads / 2) * (uint64_t)(items * (items - 1) / 2);
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
    items = option(count, arguments, "items", 4000);
    const long rounds = option(count, arguments, "rounds", 7);
    if (threads < 2 || threads % 2 || threads > MOST_THREADS || work < 0 || items < 1) {
        fprintf(stderr, "queue: an even number of threads up to %d, 1 item or more\n", MOST_THREADS);
        return 2;
    }
    struct queue *queues = aligned_alloc(_Alignof(struct queue), threads * sizeof *queues);
    if (!queues) {
        perror("queue: aligned_alloc");
        return 1;
    }
    const long steps = steps_of(work);
    puts("round,variant,synchronizations,ns,right,acquisitions,sleeps");
    for (long round = 0; round < rounds; round++)
        for (size_t at = 0; at < sizeof variants / sizeof *variants; at++) {
            double acquisitions;
            int right;
            const long slept = sleeps();
            const int64_t ns = run(&variants[at], queues, steps, &acquisitions, &right);
            printf("%ld,%s,%ld,%lld,%s,%.0f,%ld\n", round, variants[at].name, items, (long long)ns,
                   right ? "yes" : "no", acquisitions, (sleeps() - slept) / threads);
        }
    return 0;
}
