// A pool of threads computes the layers of a network, as inference runtimes do: each thread computes its rows of a
// layer, then all meet at a barrier, because the next layer reads what the others have written.
//
//   pool threads=4 width=128 layers=500 rounds=7
//
// prints a line for each round and variant. Without synchronization (`none`) each layer reads the first vector again:
// the same work, and nobody needs anybody. `twice` passes each `sense` barrier twice: what the second one adds is a
// barrier at which all arrive together.
//
// What the rows of a run predict for a layer: one barrier, and two hand-offs of the lines of the vector, which go to
// those who read them after the barrier, and back to those who write them before the next. Lines go at once, so two in
// all.
//
// build: cc -O2 -pthread
// rows: --preset standard --only cpu.barrier.sense,cpu.barrier.dissemination,cpu.barrier.pthread --placement close --threads 2,4,8,16
// rows: --preset standard --only cpu.handoff.cas_pingpong --placement close
// conditions: threads=2,4,8,16 width=128
// conditions: threads=16 width=256
// let moved = 2 * cpu.handoff.cas_pingpong[threads=2]
// predict sense = cpu.barrier.sense[threads=threads] + moved
// predict dissemination = cpu.barrier.dissemination[threads=threads] + moved
// predict pthread = cpu.barrier.pthread[threads=threads] + moved
// experiment twice - sense = cpu.barrier.sense[threads=threads]
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_THREADS = 256, MOST_STEPS = 8 };

static long threads, width, layers;
static uint32_t *weights, *vectors[2];

// Central: the last thread to arrive opens the next phase.
static struct {
    _Alignas(64) atomic_long missing;
    _Alignas(64) atomic_long phase;
} central;

// Dissemination: in step s a thread tells the one 2^s places on, and waits for the one 2^s places back.
static struct {
    _Alignas(64) atomic_long phase;
} told[MOST_THREADS][MOST_STEPS];

static pthread_barrier_t blocking;

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

static void none_wait(long me, long phase) { (void)me, (void)phase; }

static void sense_wait(long me, long phase) {
    (void)me;
    if (atomic_fetch_sub_explicit(&central.missing, 1, memory_order_acq_rel) == 1) {
        atomic_store_explicit(&central.missing, threads, memory_order_relaxed);
        atomic_store_explicit(&central.phase, phase + 1, memory_order_release);
        return;
    }
    unsigned spins = 0;
    while (atomic_load_explicit(&central.phase, memory_order_acquire) == phase) pause_or_yield(&spins);
}

static void twice_wait(long me, long phase) {
    sense_wait(me, 2 * phase);
    sense_wait(me, 2 * phase + 1);
}

static void dissemination_wait(long me, long phase) {
    for (long step = 0, distance = 1; distance < threads; step++, distance *= 2) {
        atomic_store_explicit(&told[(me + distance) % threads][step].phase, phase + 1, memory_order_release);
        unsigned spins = 0;
        while (atomic_load_explicit(&told[me][step].phase, memory_order_acquire) <= phase) pause_or_yield(&spins);
    }
}

static void pthread_wait(long me, long phase) {
    (void)me, (void)phase;
    pthread_barrier_wait(&blocking);
}

static const struct variant {
    const char *name;
    void (*wait)(long me, long phase);
} variants[] = {
    {"none", none_wait},       {"sense", sense_wait}, {"dissemination", dissemination_wait},
    {"pthread", pthread_wait}, {"twice", twice_wait},
};

// Rows `first` to `end` of one layer. Not inlined: all variants run the same machine code.
__attribute__((noinline)) static void layer(const uint32_t *in, uint32_t *out, long first, long end) {
    for (long row = first; row < end; row++) {
        uint32_t sum = 0;
        for (long column = 0; column < width; column++) sum += weights[row * width + column] * in[column];
        out[row] = sum >> 7;
    }
}

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000ll + time.tv_nsec;
}

struct member {
    long me;
    const struct variant *variant;
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

static void *compute(void *argument) {
    struct member *self = argument;
    const long first = width * self->me / threads, end = width * (self->me + 1) / threads;
    const int meets = self->variant->wait != none_wait;
    pin(self->me);
    start_together();
    self->start = now();
    for (long phase = 0; phase < layers; phase++) {
        const long in = meets ? phase % 2 : 0;
        layer(vectors[in], vectors[1 - in], first, end);
        self->variant->wait(self->me, phase);
    }
    self->end = now();
    return NULL;
}

static void first_vector(uint32_t *vector) {
    for (long at = 0; at < width; at++) vector[at] = (uint32_t)(at * 2654435761u);
}

// From the start of the first thread to the end of the last one.
static int64_t run(const struct variant *variant) {
    static pthread_t handles[MOST_THREADS];
    static struct member team[MOST_THREADS];
    atomic_store(&central.missing, threads);
    atomic_store(&central.phase, 0);
    memset(told, 0, sizeof told);
    first_vector(vectors[0]);
    atomic_store(&not_ready, threads);
    for (long me = 0; me < threads; me++) {
        team[me] = (struct member){.me = me, .variant = variant};
        if (pthread_create(&handles[me], NULL, compute, &team[me])) {
            perror("pool: pthread_create");
            exit(1);
        }
    }
    int64_t start = INT64_MAX, end = 0;
    for (long me = 0; me < threads; me++) {
        pthread_join(handles[me], NULL);
        if (team[me].start < start) start = team[me].start;
        if (team[me].end > end) end = team[me].end;
    }
    return end - start;
}

// Whether the threads computed what one thread computes.
static int is_right(long layers_in_turn) {
    uint32_t *found = malloc(width * sizeof *found),
             *expected[2] = {malloc(width * sizeof *found), malloc(width * sizeof *found)};
    memcpy(found, vectors[layers_in_turn % 2], width * sizeof *found);
    first_vector(expected[0]);
    for (long phase = 0; phase < layers_in_turn; phase++) layer(expected[phase % 2], expected[1 - phase % 2], 0, width);
    const int same = memcmp(found, expected[layers_in_turn % 2], width * sizeof *found) == 0;
    free(found), free(expected[0]), free(expected[1]);
    return same;
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
    width = option(count, arguments, "width", 128);
    layers = option(count, arguments, "layers", 500);
    const long rounds = option(count, arguments, "rounds", 7);
    if (threads < 1 || threads > MOST_THREADS || width < threads || layers < 1) {
        fprintf(stderr, "pool: 1 to %d threads, a width of at least as many, 1 layer or more\n", MOST_THREADS);
        return 2;
    }
    weights = malloc(width * width * sizeof *weights);
    for (int at = 0; at < 2; at++) vectors[at] = aligned_alloc(64, (width * sizeof **vectors + 63) / 64 * 64);
    for (long at = 0; at < width * width; at++) weights[at] = (uint32_t)(at * 2246822519u) >> 16;
    pthread_barrier_init(&blocking, NULL, threads);
    puts("round,variant,synchronizations,ns,right");
    for (long round = 0; round < rounds; round++)
        for (size_t at = 0; at < sizeof variants / sizeof *variants; at++) {
            const int64_t ns = run(&variants[at]);
            const int right = is_right(variants[at].wait == none_wait ? 1 : layers);
            printf("%ld,%s,%ld,%lld,%s\n", round, variants[at].name, layers, (long long)ns, right ? "yes" : "no");
        }
    return 0;
}
