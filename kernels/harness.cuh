// The one loop that every operation is measured in.
//
// A family's file defines `struct Operation` and ends in `SYNCSCOPE_KERNELS`, which makes three kernels of it:
//   baseline   UNROLL operations per iteration
//   test       2 * UNROLL operations per iteration, from the same body
//   check      asks the operation whether it did its work
// An Operation has
//   Operation(const Arguments &)         what a thread keeps in registers
//   void run()                           the operation, once
//   void finish(const Arguments &)       after the clock: stores what must not be optimized away
//   static void check(const Arguments &) reports what is not as it should be
// `SYNCSCOPE_KERNELS_AS(Body, Paths)` makes them with another body or other paths through the loop; see there.
#pragma once
#include "arguments.cuh"

// Operations that stand once in the machine code of one iteration of the baseline; fewer where one takes microseconds.
#ifndef SYNCSCOPE_UNROLL
#define SYNCSCOPE_UNROLL 32
#endif
constexpr int UNROLL = SYNCSCOPE_UNROLL;

// Operations of each thread before the clock is read; where there is a context, half as many.
constexpr int WARM_UP = 2 * UNROLL;

__device__ __forceinline__ u32 grid_thread() { return blockIdx.x * blockDim.x + threadIdx.x; }

// Lanes of this thread's warp that exist: the last warp of a block may be a part.
__device__ __forceinline__ u32 warp_lanes() {
    const u32 first = threadIdx.x & ~31u;
    return min(32u, blockDim.x - first);
}

// The cycle counter of the multiprocessor. The clobber keeps memory accesses on their side of the reading.
__device__ __forceinline__ u64 read_clock() {
    u64 cycles;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(cycles)::"memory");
    return cycles;
}

// Its lower half. Only the two readings around the loop are of 64 bits: that is how the timed region is told in the
// machine code.
__device__ __forceinline__ u32 read_clock_low() {
    u32 cycles;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(cycles)::"memory");
    return cycles;
}

// Nanoseconds, in steps of 32 ns to 1 us depending on the device.
__device__ __forceinline__ u64 read_global_timer() {
    u64 nanoseconds;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds)::"memory");
    return nanoseconds;
}

// A moment by both clocks.
struct Moment {
    u64 nanoseconds;
    u32 cycles_low;
    bool exact;
};

// Waits for the global timer's next step, so that its coarseness does not matter: the moment is exact to one turn of
// this loop, some 20 ns. The bound is a few times the coarsest step known.
__device__ __forceinline__ Moment next_step_of_global_timer() {
    const u64 first = read_global_timer();
    Moment moment{first, read_clock_low(), false};
#pragma unroll 1
    for (int poll = 0; poll < 1000 && !moment.exact; poll++) {
        moment.nanoseconds = read_global_timer();
        moment.cycles_low = read_clock_low();
        moment.exact = moment.nanoseconds != first;
    }
    return moment;
}

// Bodies: what one of the UNROLL copies in the loop is. COUNT is 1 in the baseline and 2 in the test.

// The operation COUNT times.
template <int COUNT>
struct Repeated {
    static constexpr u32 WARM_UP_ITERATIONS = WARM_UP / (UNROLL * COUNT);

    template <int PATH, typename Operation>
    __device__ __forceinline__ static void run(Operation &operation) {
#pragma unroll
        for (int count = 0; count < COUNT; count++) operation.run();
    }
};

// A context, `before()` and `after()`, around nothing in the baseline and around the operation in the test.
template <int COUNT>
struct InContext {
    static constexpr u32 WARM_UP_ITERATIONS = 1;

    template <int PATH, typename Operation>
    __device__ __forceinline__ static void run(Operation &operation) {
        operation.before();
        if constexpr (COUNT == 2) operation.run();
        operation.after();
    }
};

// The operation COUNT times; it is told by which path the thread came.
template <int COUNT>
struct OnItsPath {
    static constexpr u32 WARM_UP_ITERATIONS = WARM_UP / (UNROLL * COUNT);

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

// Paths: how the threads of a warp come through the loop.

// All together.
struct Together {
    template <typename Body, typename Operation>
    __device__ __forceinline__ static void run(Operation &operation, u32 iterations) {
        run_loop<Body, 0>(operation, iterations);
    }
};

// Those of which the operation says `takes_part()`; the others wait behind the loop.
struct Partly {
    template <typename Body, typename Operation>
    __device__ __forceinline__ static void run(Operation &operation, u32 iterations) {
        if (operation.takes_part()) run_loop<Body, 0>(operation, iterations);
    }
};

// In two parts, each with a loop of its own.
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

// Leaves the extremes of the warp's threads in its first thread. Lanes that do not exist are not asked.
__device__ __forceinline__ Warp summarize_warp(u64 elapsed) {
    const u32 lane = threadIdx.x & 31, lanes = warp_lanes();
    const u32 mask = 0xffffffffu >> (32 - lanes);
    Warp warp{elapsed, elapsed};
    for (u32 distance = 16; distance > 0; distance /= 2) {
        const u64 slower = __shfl_down_sync(mask, warp.slowest, distance);
        const u64 faster = __shfl_down_sync(mask, warp.fastest, distance);
        if (lane + distance < lanes) {
            warp.slowest = max(warp.slowest, slower);
            warp.fastest = min(warp.fastest, faster);
        }
    }
    return warp;
}

// The arguments at one of the memory offsets of a launch. A kind of kernel that changes more than the address overloads
// it.
template <typename Arguments>
__device__ __forceinline__ Arguments at_offset(const Arguments &arguments, u32 offset) {
    Arguments here = arguments;
    here.memory = static_cast<char *>(arguments.memory) + offset * arguments.offset_distance;
    return here;
}

// Runs the loop at each place of the tour, twice: first short, to bring instructions and data into their caches, then
// with the clock that counts. Where the loop takes milliseconds, the host leaves out the first, which would double that
// for nothing.
template <typename Body, typename Paths, typename Operation, typename Arguments>
__device__ __forceinline__ void measure(const Arguments &arguments) {
    // The whole first warp reads the rate, so that it stays converged.
    const bool reads_rate = blockIdx.x == 0 && threadIdx.x < 32;
    const u32 warps_per_block = (blockDim.x + 31) / 32;
    Moment before{};
    u64 first_start = 0, start, stop;
    u32 offset = 0;
#pragma unroll 1
    do {
        const Arguments here = at_offset(arguments, offset);
        Operation operation(here);
#pragma unroll 1
        for (u32 round = arguments.skip_warm_up; round < 2; round++) {
            // As many operations in both kernels: what is still queued from the first round when the second begins, and
            // how unequally the blocks came through it, drops out of the difference.
            const u32 iterations = round == 0 ? Body::WARM_UP_ITERATIONS : arguments.iterations;
            if (reads_rate && offset == 0) before = next_step_of_global_timer();

            __syncthreads();
            start = read_clock();
            Paths::template run<Body>(operation, iterations);
            stop = read_clock();
        }
        if (offset == 0) first_start = start;
        operation.finish(here);

        const Warp warp = summarize_warp(stop - start);
        if ((threadIdx.x & 31) == 0) {
            arguments.warps[(offset * gridDim.x + blockIdx.x) * warps_per_block + threadIdx.x / 32] = warp;
        }
        // Of what the block shares, the next place begins with nothing.
        __syncthreads();
    } while (++offset < arguments.offsets);
    if (!reads_rate) return;
    const Moment after = next_step_of_global_timer();
    if (threadIdx.x == 0) {
        // The moments lie close to the readings around the loops: the lower halves of the counter are enough.
        const u32 ahead = (u32)first_start - before.cycles_low, behind = after.cycles_low - (u32)stop;
        const bool exact = before.exact && after.exact;
        *arguments.rate = Rate{exact ? after.nanoseconds - before.nanoseconds : 0, stop - first_start + ahead + behind};
    }
}

// A value for people: an integer as it is, a floating-point number as the bits of a double.
__device__ __forceinline__ u64 bits(int value) { return (u64)(long long)value; }
__device__ __forceinline__ u64 bits(u32 value) { return value; }
__device__ __forceinline__ u64 bits(u64 value) { return value; }
__device__ __forceinline__ u64 bits(double value) { return (u64)__double_as_longlong(value); }
__device__ __forceinline__ u64 bits(float value) { return bits((double)value); }

// Counts a mismatch and keeps the values of one.
template <typename Arguments, typename Value>
__device__ __forceinline__ void report_mismatch(const Arguments &arguments, Value expected, Value found) {
    if (atomicAdd(&arguments.finding->mismatches, 1u) == 0) {
        arguments.finding->thread = grid_thread();
        arguments.finding->expected = bits(expected);
        arguments.finding->found = bits(found);
    }
}

// Bounds a spin: looks every now and then whether the host wants it to end.
struct Patience {
    const volatile u32 *abort;
    u32 spins = 0;

    __device__ __forceinline__ explicit Patience(const volatile u32 *abort) : abort(abort) {}

    // To be asked once for each turn.
    __device__ __forceinline__ bool lasts() { return ++spins % 512 != 0 || *abort == 0; }
};

// Lets some hundreds of cycles pass for each step.
__device__ __forceinline__ void dawdle(u32 steps) {
    const u32 start = read_clock_low();
    while (read_clock_low() - start < steps * 256) {
    }
}

// Checks a barrier of `group` neighbouring threads of a block each. Every thread writes, waits, and reads what a thread
// half the group further on wrote; before the next round it waits again. Warps arrive at different times, so that
// without a barrier a reader would be too early.
template <typename Operation, typename Arguments>
__device__ void check_barrier(const Arguments &arguments, u32 group) {
    __shared__ volatile u32 phases[1024];
    Operation barrier(arguments);
    const u32 first = threadIdx.x / group * group, partner = first + (threadIdx.x - first + group / 2) % group;
    phases[threadIdx.x] = 0;
    __syncthreads();
#pragma unroll 1
    for (u32 phase = 1; phase <= 16; phase++) {
        dawdle((threadIdx.x / 32 * 7 + phase * 5) % 32);
        phases[threadIdx.x] = phase;
        barrier.run();
        const u32 found = phases[partner];
        if (found != phase) report_mismatch(arguments, phase, found);
        barrier.run();
    }
}

// Two full blocks of 1024 threads are to run on a multiprocessor at a time, where it has room for as many threads: that
// leaves a thread 32 registers.
#define SYNCSCOPE_KERNEL extern "C" __global__ void __launch_bounds__(1024, 2)

// Takes its turn on the device and does nothing: see `block_order.rs`.
SYNCSCOPE_KERNEL idle() {}

#define SYNCSCOPE_KERNELS SYNCSCOPE_KERNELS_AS(Repeated, Together)

#define SYNCSCOPE_KERNELS_AS(Body, Paths)                                                                   \
    SYNCSCOPE_KERNEL baseline(const Arguments arguments) { measure<Body<1>, Paths, Operation>(arguments); } \
    SYNCSCOPE_KERNEL test(const Arguments arguments) { measure<Body<2>, Paths, Operation>(arguments); }     \
    SYNCSCOPE_KERNEL check(const Arguments arguments) { Operation::check(arguments); }
