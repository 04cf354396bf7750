// The loop in which every operation is measured.
//
// The file of a family names its kind of `Arguments`, defines `struct Operation`, and ends with `SYNCSCOPE_KERNELS`,
// which makes three kernels of it:
//   syncscope_baseline   UNROLL operations per iteration
//   syncscope_test       2 * UNROLL operations per iteration, from the same body
//   syncscope_check      checks that the operation does its work
// With SYNCSCOPE_THIRD_LOOP there is a fourth one, with a third loop; it shows whether the second copy of an operation
// costs what the first one does:
//   syncscope_third      3 * UNROLL operations per iteration, from the same body
// An Operation has
//   Operation(const Arguments &)         what a thread keeps in registers
//   void run()                           the operation, once
//   void finish(const Arguments &)       after the clock: stores what must not be optimized away
//   static void check(const Arguments &) reports mismatches
// `SYNCSCOPE_KERNELS_AS(Body, Paths)` makes them with another body or other paths through the loop; see there.
#pragma once
#include "arguments.cuh"

namespace syncscope {

// Operations that occur once in the machine code of one iteration of the baseline; fewer if one takes microseconds.
#ifndef SYNCSCOPE_UNROLL
#define SYNCSCOPE_UNROLL 32
#endif
constexpr int UNROLL = SYNCSCOPE_UNROLL;

// Operations of each thread before the clock is read; half as many if there is a context.
constexpr int WARM_UP = 2 * UNROLL;

// To see the instructions of the loops, nothing else is needed: without the gate, the rate, the sums of warps and the
// check a program compiles in less than half of the time. Tests compare its loops with those that are timed.
#ifdef SYNCSCOPE_LOOPS_ALONE
constexpr bool LOOPS_ALONE = true;
#define SYNCSCOPE_KERNEL_OF_CHECK(KERNEL, Operation)
#else
constexpr bool LOOPS_ALONE = false;
#define SYNCSCOPE_KERNEL_OF_CHECK(KERNEL, Operation) \
    KERNEL syncscope_check(const Arguments arguments) { Operation::check(arguments); }
#endif

// A thread's time in a window is that of so many runs of the loop; `launch/samples.rs` has the same number.
constexpr u32 CHUNKS_OF_SAMPLE = 16;

__device__ __forceinline__ u32 grid_thread() { return blockIdx.x * blockDim.x + threadIdx.x; }

// Accesses without any promise, as a program has them before and after a barrier. (`volatile` ones would be strong:
// they miss the first-level cache, and a barrier that does not empty it would pass the check.)
__device__ __forceinline__ void store_plain(u32 *word, u32 value) {
    asm volatile("st.global.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
}

__device__ __forceinline__ u32 load_plain(const u32 *word) {
    u32 value;
    asm volatile("ld.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
    return value;
}

// The number of existing lanes of this warp: the last warp of a block may be partial.
__device__ __forceinline__ u32 warp_lanes() {
    const u32 first = threadIdx.x & ~31u;
    return min(32u, blockDim.x - first);
}

// The cycle counter of the multiprocessor. The clobber prevents the compiler from moving memory accesses across the
// reading.
__device__ __forceinline__ u64 read_clock() {
    u64 cycles;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(cycles)::"memory");
    return cycles;
}

// The lower half of the counter. Only the two readings around the loop have 64 bits, by which the timed region is found
// in the machine code.
__device__ __forceinline__ u32 read_clock_low() {
    u32 cycles;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(cycles)::"memory");
    return cycles;
}

// The global timer in nanoseconds, in steps of 32 ns to 1 us depending on the device.
__device__ __forceinline__ u64 read_global_timer() {
    u64 nanoseconds;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds)::"memory");
    return nanoseconds;
}

// A point in time, by both clocks.
struct TimePoint {
    u64 nanoseconds;
    u32 cycles_low;
    bool exact;
};

// Waits for the next step of the global timer, so that its resolution does not matter: the time is exact to one
// iteration of this loop, some 20 ns. The limit is a few times the coarsest known step.
__device__ __forceinline__ TimePoint next_step_of_global_timer() {
    const u64 first = read_global_timer();
    TimePoint point{first, read_clock_low(), false};
#pragma unroll 1
    for (int poll = 0; poll < 1000 && !point.exact; poll++) {
        point.nanoseconds = read_global_timer();
        point.cycles_low = read_clock_low();
        point.exact = point.nanoseconds != first;
    }
    return point;
}

// Bodies: what each of the UNROLL copies in the loop contains. COUNT is 1 in the baseline, 2 in the test and 3 in the
// third loop.

// Iterations that execute WARM_UP operations, or one iteration if it has more.
template <int COUNT>
constexpr u32 ITERATIONS_OF_WARM_UP = WARM_UP < UNROLL * COUNT ? 1 : WARM_UP / (UNROLL * COUNT);

// The operation COUNT times.
template <int COUNT>
struct Repeated {
    static constexpr u32 WARM_UP_ITERATIONS = ITERATIONS_OF_WARM_UP<COUNT>;

    template <int PATH, typename Operation>
    __device__ __forceinline__ static void run(Operation &operation) {
#pragma unroll
        for (int count = 0; count < COUNT; count++) operation.run();
    }
};

// A context, `before()` and `after()`, around nothing in the baseline, around the operation in the test, and around two
// of them in the third loop.
template <int COUNT>
struct InContext {
    static constexpr u32 WARM_UP_ITERATIONS = 1;

    template <int PATH, typename Operation>
    __device__ __forceinline__ static void run(Operation &operation) {
        operation.before();
#pragma unroll
        for (int count = 1; count < COUNT; count++) operation.run();
        operation.after();
    }
};

// The operation COUNT times. The operation gets the number of the path of the thread.
template <int COUNT>
struct OnItsPath {
    static constexpr u32 WARM_UP_ITERATIONS = ITERATIONS_OF_WARM_UP<COUNT>;

    template <int PATH, typename Operation>
    __device__ __forceinline__ static void run(Operation &operation) {
#pragma unroll
        for (int count = 0; count < COUNT; count++) operation.template run<PATH>();
    }
};

template <typename Body, int PATH, typename Operation>
__device__ __forceinline__ void run_loop(Operation &operation, u32 iterations) {
#pragma unroll 1
    for (u32 iteration = 0; iteration < iterations; iteration++) {
#pragma unroll
        for (int copy = 0; copy < UNROLL; copy++) Body::template run<PATH>(operation);
    }
}

// Paths: how the threads of a warp go through the loop.

// All threads together.
struct Together {
    template <typename Body, typename Operation>
    __device__ __forceinline__ static void run(Operation &operation, u32 iterations) {
        run_loop<Body, 0>(operation, iterations);
    }
};

// The threads for which `takes_part()` is true; the others wait after the loop.
struct Partly {
    template <typename Body, typename Operation>
    __device__ __forceinline__ static void run(Operation &operation, u32 iterations) {
        if (operation.takes_part()) run_loop<Body, 0>(operation, iterations);
    }
};

// Two parts of the warp, each with a loop of its own.
struct Apart {
    template <typename Body, typename Operation>
    __device__ __forceinline__ static void run(Operation &operation, u32 iterations) {
        if (operation.takes_part()) {
            run_loop<Body, 0>(operation, iterations);
        } else {
            run_loop<Body, 1>(operation, iterations);
        }
    }
};

// Whether an operation has `untimed(cycles)`: how many of the cycles of a run are no part of it.
template <typename Operation>
constexpr bool HAS_UNTIMED = false;

// Reduces to the extremes of the threads of the warp, in its first thread. Only existing lanes take part.
__device__ __forceinline__ Warp summarize_warp(u64 elapsed, u32 chunks, u32 late) {
    const u32 lane = threadIdx.x & 31, lanes = warp_lanes();
    const u32 mask = 0xffffffffu >> (32 - lanes);
    Warp warp{elapsed, elapsed, chunks, late};
    for (u32 distance = 16; distance > 0; distance /= 2) {
        const Warp other{__shfl_down_sync(mask, warp.slowest, distance), __shfl_down_sync(mask, warp.fastest, distance),
                         __shfl_down_sync(mask, warp.chunks, distance), __shfl_down_sync(mask, warp.late, distance)};
        if (lane + distance < lanes) {
            warp = Warp{max(warp.slowest, other.slowest), min(warp.fastest, other.fastest),
                        min(warp.chunks, other.chunks), max(warp.late, other.late)};
        }
    }
    return warp;
}

// The arguments at one of the memory offsets of a launch. Kinds of kernels that change more than the address overload
// it.
template <typename Arguments>
__device__ __forceinline__ Arguments at_offset(const Arguments &arguments, u32 offset) {
    Arguments here = arguments;
    here.memory = static_cast<char *>(arguments.memory) + offset * arguments.offset_distance;
    return here;
}

// Limits a spin: tests from time to time whether the host requests an end.
struct Spin {
    const volatile u32 *abort;
    u32 spins = 0;

    __device__ __forceinline__ explicit Spin(const volatile u32 *abort) : abort(abort) {}

    // To be called once in each iteration.
    __device__ __forceinline__ bool goes_on() { return ++spins % 512 != 0 || *abort == 0; }
};

// Which threads must execute the loop equally often, because they meet in the operation.
enum class Meets { WARP, BLOCK, CLUSTER };

// Of an Operation whose threads meet in more than a warp, its file says so after the definition:
//   template <> constexpr Meets syncscope::MEETS<Operation> = Meets::BLOCK;
template <typename Operation>
constexpr Meets MEETS = Meets::WARP;

// A barrier of the cluster, and a word in the shared memory of its first block.
__device__ __forceinline__ void meet_in_cluster() {
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}
__device__ __forceinline__ u32 load_of_first_block(const u32 *word) {
    u32 value;
    asm volatile("{.reg .u32 there; mapa.shared::cluster.u32 there, %1, 0; ld.shared::cluster.u32 %0, [there];}"
                 : "=r"(value)
                 : "r"((u32)__cvta_generic_to_shared(word))
                 : "memory");
    return value;
}

// Whether the threads that meet go on. Those of a cluster do as the first block decides; it is at most one turn ahead
// of the others, so two words are enough.
//
// The last word is a vote of the whole warp with a constant mask, which may contain lanes that do not exist: by it the
// compiler knows that the warp stays converged. Otherwise it tests that before each operation that needs it.
template <Meets MEETS>
__device__ __forceinline__ bool any_goes_on(bool goes_on, u32 turn) {
    if constexpr (MEETS == Meets::BLOCK) goes_on = __syncthreads_or(goes_on);
    if constexpr (MEETS == Meets::CLUSTER) {
        __shared__ u32 decisions[2];
        if (threadIdx.x == 0) decisions[turn % 2] = goes_on;
        meet_in_cluster();
        goes_on = load_of_first_block(&decisions[turn % 2]) != 0;
        // The words must exist until all blocks have read them.
        if (!goes_on) meet_in_cluster();
    }
    return __any_sync(0xffffffffu, goes_on);
}

// When the window begins, by the clock of this multiprocessor: the same moment on all of them, to a step of the global
// timer. All blocks of the grid are at the gate then; they must all fit on the device at a time.
template <typename Arguments>
__device__ __forceinline__ u32 begin_of_window(const Arguments &arguments) {
    __shared__ u32 begin;
    __syncthreads();
    if (threadIdx.x == 0) {
        // Without a fence: before one, the compiler makes an atomic operation with a result of every reduction.
        u32 ahead = 0;
        if (gridDim.x > 1) {
            Gate *const gate = arguments.gate;
            const u64 before = gate->opened;
            // The upper bits of a time are zero. The arrival needs them, so that it comes after the reading.
            const u32 others = gridDim.x - 1 + (u32)(before >> 63);
            u64 opened;
            if (atomicInc(const_cast<u32 *>(&gate->arrived), others) == others) {
                opened = read_global_timer();
                gate->opened = opened;
            } else {
                Spin spin(arguments.abort);
                do {
                    opened = gate->opened;
                } while (opened == before && spin.goes_on());
            }
            ahead = (u32)((read_global_timer() - opened) * arguments.cycles_per_1024_ns >> 10);
        }
        begin = read_clock_low() - ahead + arguments.run_in;
    }
    __syncthreads();
    return begin;
}

// The runs of the loop that a thread did within the window. Of one that crosses its beginning or its end, the part that
// lies within counts.
struct Chunks {
    float done = 0;

    // The run that ended at `stop`, after another one ended at `previous`, in cycles since the window began.
    __device__ __forceinline__ void note(int previous, int stop, int window) {
        const int inside = min(stop, window) - max(previous, 0);
        if (inside > 0) done += inside == stop - previous ? 1.0f : __fdividef((float)inside, (float)(stop - previous));
    }

    // How long CHUNKS_OF_SAMPLE of them take; no longer than if a thousandth of one was done.
    __device__ __forceinline__ u64 elapsed(u32 window) const {
        return (u64)((double)window * CHUNKS_OF_SAMPLE / max(done, 0.001f));
    }
};

// Runs the loop at each memory offset and times it.
//
// With a window, the threads run the loop again and again: all of them begin before the window and end after it, so
// what is timed within it ran beside all the others. They go on until the run that crosses its end is over for all of
// them: a run whose rest had the device for itself would seem to lie within the window for the most part.
//
// Without one, each thread runs the loop once: for threads that wait for each other all the time, for checks, which
// must know the number of operations, and for a device that works with the host. A short warm-up comes first, to bring
// instructions and data into their caches; the host skips it if the loop takes milliseconds.
template <typename Body, typename Paths, typename Operation, typename Arguments>
__device__ __forceinline__ void measure(const Arguments &arguments) {
    // The whole first warp reads the timer, so that it stays converged.
    const bool reads_rate = !LOOPS_ALONE && blockIdx.x == 0 && threadIdx.x < 32;
    const u32 warps_per_block = (blockDim.x + 31) / 32;
    TimePoint before{};
    u64 first_start = 0, start, stop;
    u32 offset = 0;
#pragma unroll 1
    do {
        const Arguments here = at_offset(arguments, offset);
        Operation operation(here);
        if (reads_rate && offset == 0) before = next_step_of_global_timer();
        const u32 begin = !LOOPS_ALONE && arguments.window != 0 ? begin_of_window(arguments) : 0;
        Chunks chunks;
        int previous = 0;
        u32 late = 0;
        // The warm-up has the same number of operations in both kernels (in the third loop half as many more). What is
        // still queued from it when the run that counts begins, and how unequally the blocks finished it, drops out of
        // the difference.
        u32 turn = arguments.window != 0 || arguments.skip_warm_up != 0;
        bool goes_on;
#pragma unroll 1
        do {
            if (arguments.window == 0) __syncthreads();
            u32 iterations = turn == 0 ? Body::WARM_UP_ITERATIONS : arguments.iterations;
            start = read_clock();
            Paths::template run<Body>(operation, iterations);
            stop = read_clock();
            if (offset == 0 && turn <= 1) first_start = start;
            if constexpr (HAS_UNTIMED<Operation>) start += operation.untimed(stop - start);
            if (arguments.window != 0) {
                const int window = (int)arguments.window, ended = (int)((u32)stop - begin);
                if (turn == 1) {
                    previous = (int)((u32)start - begin);
                    late = (u32)max(previous, 0);
                }
                chunks.note(previous, ended, window);
                previous = ended;
                goes_on = any_goes_on<MEETS<Operation>>(ended < window + (int)arguments.run_out, turn);
            } else {
                goes_on = turn == 0;
            }
            turn++;
        } while (goes_on);
        operation.finish(here);

        const u64 elapsed = !LOOPS_ALONE && arguments.window != 0 ? chunks.elapsed(arguments.window) : stop - start;
        const Warp warp =
            LOOPS_ALONE ? Warp{elapsed, elapsed, 0, late} : summarize_warp(elapsed, (u32)chunks.done, late);
        if ((threadIdx.x & 31) == 0) {
            arguments.warps[(offset * gridDim.x + blockIdx.x) * warps_per_block + threadIdx.x / 32] = warp;
        }
        // No thread may still use shared memory when the next memory offset begins.
        __syncthreads();
    } while (++offset < arguments.offsets);
    if (!reads_rate) return;
    const TimePoint after = next_step_of_global_timer();
    if (threadIdx.x == 0) {
        // The times are close to the readings around the loops, so the lower halves of the counter are enough.
        const u32 ahead = (u32)first_start - before.cycles_low, behind = after.cycles_low - (u32)stop;
        const bool exact = before.exact && after.exact;
        *arguments.rate = Rate{exact ? after.nanoseconds - before.nanoseconds : 0, stop - first_start + ahead + behind};
    }
}

// A value for messages: an integer as it is, a floating-point number as the bits of a double.
__device__ __forceinline__ u64 bits(int value) { return (u64)(long long)value; }
__device__ __forceinline__ u64 bits(u32 value) { return value; }
__device__ __forceinline__ u64 bits(u64 value) { return value; }
__device__ __forceinline__ u64 bits(double value) { return (u64)__double_as_longlong(value); }
__device__ __forceinline__ u64 bits(float value) { return bits((double)value); }

// Counts a mismatch, and keeps the values of the first one.
template <typename Arguments, typename Value>
__device__ __forceinline__ void report_mismatch(const Arguments &arguments, Value expected, Value found) {
    if (atomicAdd(&arguments.finding->mismatches, 1u) == 0) {
        arguments.finding->thread = grid_thread();
        arguments.finding->expected = bits(expected);
        arguments.finding->found = bits(found);
    }
}

// Waits for some hundreds of cycles for each step.
__device__ __forceinline__ void delay(u32 steps) {
    const u32 start = read_clock_low();
    while (read_clock_low() - start < steps * 256) {
    }
}

// Checks a barrier of `group` neighbouring threads of a block. Every thread writes, waits, and reads what the thread
// half a group away wrote; before the next phase it waits again. Warps arrive at different times, so without a barrier
// a reader would be too early.
template <typename Operation, typename Arguments>
__device__ void check_barrier(const Arguments &arguments, u32 group) {
    __shared__ volatile u32 phases[1024];
    Operation barrier(arguments);
    const u32 first = threadIdx.x / group * group, partner = first + (threadIdx.x - first + group / 2) % group;
    phases[threadIdx.x] = 0;
    __syncthreads();
#pragma unroll 1
    for (u32 phase = 1; phase <= 16; phase++) {
        delay((threadIdx.x / 32 * 7 + phase * 5) % 32);
        phases[threadIdx.x] = phase;
        barrier.run();
        const u32 found = phases[partner];
        if (found != phase) report_mismatch(arguments, phase, found);
        barrier.run();
    }
}

// A multiprocessor with room for 2048 threads runs two full blocks of 1024 threads at a time. That leaves 32 registers
// for each thread.
#ifndef SYNCSCOPE_MOST_THREADS
#define SYNCSCOPE_MOST_THREADS 1024
#endif
#ifndef SYNCSCOPE_LEAST_BLOCKS
#define SYNCSCOPE_LEAST_BLOCKS 2
#endif
#define SYNCSCOPE_BOUNDS __launch_bounds__(SYNCSCOPE_MOST_THREADS, SYNCSCOPE_LEAST_BLOCKS)
#define SYNCSCOPE_KERNEL extern "C" __global__ void SYNCSCOPE_BOUNDS

// An empty kernel, which sets the block order; see `block_order.rs`.
extern "C" __global__ void __launch_bounds__(1024, 2) syncscope_idle() {}

// The kernel with the third loop, if it is asked for. It is compiled for few cases of a run.
#ifdef SYNCSCOPE_THIRD_LOOP
#define SYNCSCOPE_THIRD(KERNEL, Body, Paths, Operation) \
    KERNEL syncscope_third(const Arguments arguments) { measure<Body<3>, Paths, Operation>(arguments); }
#else
#define SYNCSCOPE_THIRD(KERNEL, Body, Paths, Operation)
#endif

#define SYNCSCOPE_KERNELS SYNCSCOPE_KERNELS_AS(Repeated, Together)

#define SYNCSCOPE_KERNELS_AS(Body, Paths)                                                                             \
    SYNCSCOPE_KERNEL syncscope_baseline(const Arguments arguments) { measure<Body<1>, Paths, Operation>(arguments); } \
    SYNCSCOPE_KERNEL syncscope_test(const Arguments arguments) { measure<Body<2>, Paths, Operation>(arguments); }     \
    SYNCSCOPE_KERNEL_OF_CHECK(SYNCSCOPE_KERNEL, Operation)                                                            \
    SYNCSCOPE_THIRD(SYNCSCOPE_KERNEL, Body, Paths, Operation)

}  // namespace syncscope
