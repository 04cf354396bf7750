// The test: threads of this machine use an operation for its purpose, round after round, with random delays before the
// operation and inside what it protects. The first failure ends the test.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// `trial.h`.
void syncscope_trial_begin(unsigned threads);
void syncscope_trial_run(unsigned number, unsigned threads, unsigned times);
void syncscope_trial_end(unsigned threads, unsigned times);
void syncscope_trial_clear(void);

enum { MOST = 64, TIMES = 200, LONGEST_DELAY = 64, HANGS_AFTER = 3000, GRACE = 1000, MOST_GRACES = 9 };

// Nanoseconds that a thread has run, and has waited for a CPU.
struct use {
    unsigned long long ran, waited;
};

static struct member {
    uint64_t random, delays;
    int id;  // 0: the thread has not begun
    struct use before;
    char apart[88];
} members[MOST] __attribute__((aligned(128)));
static pthread_barrier_t barrier;
static unsigned threads;
static uint64_t rounds;
static int is_over;
static double until;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static uint64_t all_delays(void) {
    uint64_t sum = 0;
    for (unsigned number = 0; number < threads; number++) sum += __atomic_load_n(&members[number].delays, __ATOMIC_RELAXED);
    return sum;
}

// What the thread has used so far; nothing where the system does not tell.
static struct use use_of(int id) {
    struct use use = {0, 0};
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/schedstat", id);
    FILE *const file = fopen(path, "r");
    if (!file) return use;
    if (fscanf(file, "%llu %llu", &use.ran, &use.waited) != 2) use = (struct use){0, 0};
    fclose(file);
    return use;
}

static void note_use(void) {
    for (unsigned number = 0; number < threads; number++) {
        members[number].before = use_of(__atomic_load_n(&members[number].id, __ATOMIC_RELAXED));
    }
}

// Whether a thread was kept from its CPU since the use was noted, so that the others wait for it with reason.
static int is_any_starved(void) {
    for (unsigned number = 0; number < threads; number++) {
        const int id = __atomic_load_n(&members[number].id, __ATOMIC_RELAXED);
        if (id == 0) return 1;
        const struct use now = use_of(id), before = members[number].before;
        if (now.waited - before.waited > 500000000 && now.ran - before.ran < 300000000) return 1;
    }
    return 0;
}

void syncscope_broken(const char *what, uint64_t expected, uint64_t found);
void syncscope_broken(const char *what, uint64_t expected, uint64_t found) {
    static int is_told;
    if (__atomic_exchange_n(&is_told, 1, __ATOMIC_RELAXED)) for (;;) pause();
    fprintf(stderr, "failed %s %llu %llu %llu\n", what, (unsigned long long)expected, (unsigned long long)found,
            (unsigned long long)all_delays());
    _exit(0);
}

void syncscope_delay(unsigned number);
void syncscope_delay(unsigned number) {
    struct member *const member = &members[number];
    uint64_t random = member->random;
    random ^= random << 13, random ^= random >> 7, random ^= random << 17;
    member->random = random;
    __atomic_store_n(&member->delays, member->delays + 1, __ATOMIC_RELAXED);
    // Half of the delays are zero, and few are long.
    const unsigned longest = random & 1 ? 0 : random & 14 ? 8 : LONGEST_DELAY;
    for (volatile unsigned left = longest ? (unsigned)(random >> 8) % longest : 0; left > 0; left--) {}
}

static void *run(void *argument) {
    const unsigned number = (unsigned)(uintptr_t)argument;
    __atomic_store_n(&members[number].id, (int)syscall(SYS_gettid), __ATOMIC_RELAXED);
    for (;;) {
        if (number == 0) {
            is_over = now() > until;
            syncscope_trial_clear();
            syncscope_trial_begin(threads);
        }
        pthread_barrier_wait(&barrier);
        if (is_over) return NULL;
        syncscope_trial_run(number, threads, TIMES);
        pthread_barrier_wait(&barrier);
        if (number == 0) syncscope_trial_end(threads, TIMES), rounds++;
    }
}

// Arguments: seconds, number of threads, and their CPUs.
int main(int count, char **words) {
    if (count < 3) return 2;
    until = now() + atof(words[1]), threads = (unsigned)atoi(words[2]);
    if (threads > MOST) return 2;
    pthread_barrier_init(&barrier, NULL, threads);
    pthread_t all[MOST];
    for (unsigned number = 0; number < threads; number++) {
        members[number].random = 0x9E3779B97F4A7C15u * (number + 1);
        pthread_create(&all[number], NULL, run, (void *)(uintptr_t)number);
        if (count == 3) continue;
        cpu_set_t cpus;
        CPU_ZERO(&cpus);
        CPU_SET((unsigned)atoi(words[3 + number % (unsigned)(count - 3)]), &cpus);
        pthread_setaffinity_np(all[number], sizeof cpus, &cpus);
    }
    uint64_t seen = 0;
    unsigned graces = 0;
    for (unsigned still = 0; still < HANGS_AFTER; still += 10) {
        const uint64_t delays = all_delays();
        if (delays != seen) seen = delays, still = graces = 0;
        if (still == 0) note_use();
        if (still + 10 >= HANGS_AFTER && graces < MOST_GRACES && is_any_starved()) still -= GRACE, graces++;
        if (is_over && now() > until + 0.1) break;
        usleep(10000);
    }
    if (!is_over) fprintf(stderr, "hangs %llu\n", (unsigned long long)all_delays());
    else fprintf(stderr, "passed %llu\n", (unsigned long long)rounds * threads * TIMES);
    _exit(0);
}
