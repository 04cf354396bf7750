// Jacobi's method for a rod whose ends have fixed temperatures, by OpenMP threads: each sweep reads what the sweep
// before has written, so all threads meet after each.
//
//   sweep threads=4 cells=4096 sweeps=500 rounds=7
//
// `barrier` is one parallel region with a barrier in each sweep, `region` a parallel region for each sweep. Without
// synchronization (`none`) each thread keeps to its part of the rod, as if the part had fixed ends.
//
// What the rows of a run predict for a sweep: one barrier, and two hand-offs of the lines at the ends of the parts,
// which go to the neighbours who read them after the barrier, and back before the next. A region has two barriers, one
// that lets the threads begin and one at which they end, and the first thread hands each of the others its work.
//
// build: cc -O2 -fopenmp
// rows: --preset standard --only cpu.barrier.openmp --placement close --threads 2,4,8,16
// rows: --preset standard --only cpu.handoff.cas_pingpong --placement close
// conditions: threads=2,4,8,16 cells=2048
// conditions: threads=2,4,16 cells=32768
// environment: OMP_PROC_BIND=close OMP_PLACES=threads
// let barrier_row = cpu.barrier.openmp[threads=threads group=libgomp]
// let handoff = cpu.handoff.cas_pingpong[threads=2]
// predict barrier = barrier_row + 2 * handoff
// predict region = 2 * barrier_row + (2 + threads - 1) * handoff
// experiment twice - barrier = cpu.barrier.openmp[threads=threads group=libgomp]
#define _POSIX_C_SOURCE 200809L
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static long threads, cells, sweeps;
static float *rod[2];

// Cells `first` to `end` from their neighbours. Not inlined: all variants run the same machine code.
__attribute__((noinline)) static void sweep(const float *in, float *out, long first, long end) {
    for (long cell = first; cell < end; cell++) out[cell] = 0.5f * (in[cell - 1] + in[cell + 1]);
}

// A thread's part, without the two ends of the rod and without `ends` more cells on each side.
static void part(long me, long ends, long *first, long *end) {
    const long inner = cells - 2;
    *first = 1 + inner * me / threads + ends;
    *end = 1 + inner * (me + 1) / threads - ends;
}

static void none(void) {
#pragma omp parallel num_threads(threads)
    {
        long first, end;
        part(omp_get_thread_num(), 1, &first, &end);
        for (long turn = 0; turn < sweeps; turn++) sweep(rod[turn % 2], rod[1 - turn % 2], first, end);
    }
}

static void barrier(void) {
#pragma omp parallel num_threads(threads)
    {
        long first, end;
        part(omp_get_thread_num(), 0, &first, &end);
        for (long turn = 0; turn < sweeps; turn++) {
            sweep(rod[turn % 2], rod[1 - turn % 2], first, end);
#pragma omp barrier
        }
    }
}

// What the second barrier adds is a barrier at which all arrive together.
static void twice(void) {
#pragma omp parallel num_threads(threads)
    {
        long first, end;
        part(omp_get_thread_num(), 0, &first, &end);
        for (long turn = 0; turn < sweeps; turn++) {
            sweep(rod[turn % 2], rod[1 - turn % 2], first, end);
#pragma omp barrier
#pragma omp barrier
        }
    }
}

static void region(void) {
    for (long turn = 0; turn < sweeps; turn++) {
#pragma omp parallel num_threads(threads)
        {
            long first, end;
            part(omp_get_thread_num(), 0, &first, &end);
            sweep(rod[turn % 2], rod[1 - turn % 2], first, end);
        }
    }
}

static const struct variant {
    const char *name;
    void (*run)(void);
} variants[] = {
    {"none", none},
    {"barrier", barrier},
    {"region", region},
    {"twice", twice},
};

static void first_temperatures(float *cell) {
    for (long at = 0; at < cells; at++) cell[at] = (float)(at * 37 % 101);
}

// Whether the rod is as one thread leaves it; a thread alone in its part, `none`, has the cells at its ends fixed.
static int is_right(int parts_are_alone) {
    const size_t bytes = cells * sizeof(float);
    float *expected[2] = {malloc(bytes), malloc(bytes)};
    first_temperatures(expected[0]), first_temperatures(expected[1]);
    for (long me = 0; me < (parts_are_alone ? threads : 1); me++) {
        long first = 1, end = cells - 1;
        if (parts_are_alone) part(me, 1, &first, &end);
        for (long turn = 0; turn < sweeps; turn++) sweep(expected[turn % 2], expected[1 - turn % 2], first, end);
    }
    const int same = memcmp(rod[sweeps % 2], expected[sweeps % 2], bytes) == 0;
    free(expected[0]), free(expected[1]);
    return same;
}

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000ll + time.tv_nsec;
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
    cells = option(count, arguments, "cells", 2048);
    sweeps = option(count, arguments, "sweeps", 500);
    const long rounds = option(count, arguments, "rounds", 7);
    if (threads < 1 || cells < 4 * threads + 2 || sweeps < 1) {
        fprintf(stderr, "sweep: 1 thread or more, four cells for each, 1 sweep or more\n");
        return 2;
    }
    omp_set_dynamic(0);
    for (int at = 0; at < 2; at++) rod[at] = aligned_alloc(64, (cells * sizeof(float) + 63) / 64 * 64);
    first_temperatures(rod[0]), first_temperatures(rod[1]);
    none();  // The threads are there from now on.
    puts("round,variant,synchronizations,ns,right");
    for (long round = 0; round < rounds; round++)
        for (size_t at = 0; at < sizeof variants / sizeof *variants; at++) {
            first_temperatures(rod[0]), first_temperatures(rod[1]);
            const int64_t start = now();
            variants[at].run();
            const int64_t ns = now() - start;
            const int right = is_right(variants[at].run == none);
            printf("%ld,%s,%ld,%lld,%s\n", round, variants[at].name, sweeps, (long long)ns, right ? "yes" : "no");
        }
    return 0;
}
