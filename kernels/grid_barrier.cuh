// What the barriers that are wider than a block have in common: how a wait is bounded, and how a barrier is checked.
//
// A file of such barriers defines `struct Operation` with, besides what the harness asks for, `u32 epoch`, the barriers
// passed so far, and ends in `SYNCSCOPE_MEETINGS`. Every launch is checked while it is measured: at each place all
// threads meet once before the warm-up, which also lets the kernels of several devices begin together, and once after
// the clock was read. In a meeting each thread writes, passes the barrier, and reads what a thread of another block
// wrote; one thread of each block does the same with another device. All these accesses are plain: that they are seen
// is what the barrier promises. The kernel `check` does it many times more, with blocks that come late.
#pragma once
#include "harness.cuh"

constexpr u32 MOST_DEVICES = 16;

// What went wrong in any launch; `fabric` holds the same structure.
struct Ledger {
    u32 gave_up;     // waits that outlasted the limit
    u32 mismatches;  // values that were not those written before the barrier
    u32 thread;      // one of the threads concerned
    u32 reserved;
    u64 expected;
    u64 found;
};

// What the devices tell each other at one place. Each part is alone in its line.
struct Exchange {
    u32 counter;
    u32 unused[31];
    u32 flags[MOST_DEVICES];  // one for each device that writes here
    u32 unused_too[16];
};

// What a device knows of itself and of the others, written by the host before the first launch of a case.
struct Roster {
    u64 limit_ns;  // a longer wait gives up
    Ledger *ledger;
    u32 *phases;  // one for each thread of this device
    u32 device;   // 0 to devices - 1
    u32 devices;
    Exchange *exchanges[MOST_DEVICES];  // of each device, one for each place
    u32 *tidings[MOST_DEVICES];         // of each device, one for each of its blocks
};

static_assert(sizeof(Ledger) == 32 && sizeof(Exchange) == 256 && sizeof(Roster) == 288,
              "the host's structures must be these");

extern "C" {
__constant__ Roster roster;
}

// Polls between two looks at the clock: a look takes about as long as a poll, so the bound costs a thousandth.
constexpr u32 POLLS = 1024;

// Looks whether a wait must end: its limit has passed, another thread gave up, or the host wants it. Not inlined, so
// that what is timed has one call that is never taken, and no second clock.
// Returns when the wait must end; 0: now.
__device__ __noinline__ u64 look(const volatile u32 *abort, u64 deadline) {
    const u64 now = read_global_timer();
    if (deadline == 0) deadline = now + roster.limit_ns;
    const bool ends = now > deadline || *abort != 0 || *static_cast<volatile u32 *>(&roster.ledger->gave_up) != 0;
    if (ends) atomicAdd(&roster.ledger->gave_up, 1u);
    return ends ? 0 : deadline;
}

// The patience of one thread. One that gave up never waits again, so that the kernel comes to its end.
struct Bound {
    const volatile u32 *abort;
    bool over = false;

    __device__ __forceinline__ explicit Bound(const volatile u32 *abort) : abort(abort) {}

    template <typename Condition>
    __device__ __forceinline__ void wait_for(Condition holds) {
        u32 polls = 0;
        u64 deadline = 0;
#pragma unroll 1
        while (!over && !holds()) {
            if (++polls % POLLS == 0) {
                deadline = look(abort, deadline);
                over = deadline == 0;
            }
        }
    }
};

// Whether `count`, which only grows and may wrap, has come to `target`.
__device__ __forceinline__ bool reached(u32 count, u32 target) { return (int)(count - target) >= 0; }

__device__ __forceinline__ u32 load_acquire_gpu(const u32 *word) {
    u32 value;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
    return value;
}

__device__ __forceinline__ uint4 load_acquire_gpu(const uint4 *words) {
    uint4 value;
    asm volatile("ld.acquire.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
                 : "l"(words)
                 : "memory");
    return value;
}

__device__ __forceinline__ void store_release_gpu(u32 *word, u32 value) {
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
}

// Where the state of this place begins.
__device__ __forceinline__ u32 *place_of(const GridBarrierArguments &arguments) {
    return static_cast<u32 *>(arguments.memory);
}

// Keeps one mismatch, and their number.
__device__ __forceinline__ void note_mismatch(u32 expected, u32 found) {
    Ledger &ledger = *roster.ledger;
    if (atomicAdd(&ledger.mismatches, 1u) == 0) {
        ledger.thread = grid_thread();
        ledger.expected = expected;
        ledger.found = found;
    }
}

// Meets once: two barriers. The number of the launch makes each value a new one. Nobody writes again before all have
// read.
template <typename Operation>
__device__ __forceinline__ void meet(Operation &barrier, const GridBarrierArguments &arguments, u32 round) {
    const u32 value = arguments.generation * 64 + round % 64, shift = round + gridDim.x / 2;
    const u32 partner = (blockIdx.x + shift) % gridDim.x;
    const bool speaks = threadIdx.x == blockDim.x - 1;
    volatile u32 *const phases = roster.phases;
    phases[grid_thread()] = value;
    if (speaks) *static_cast<volatile u32 *>(roster.tidings[roster.device] + blockIdx.x) = value;
    barrier.run();
    const u32 found = phases[partner * blockDim.x + threadIdx.x];
    if (found != value) note_mismatch(value, found);
    if (speaks) {
        const u32 other = (roster.device + 1 + round % 3) % roster.devices;
        const u32 told = *static_cast<volatile u32 *>(roster.tidings[other] + partner);
        if (told != value) note_mismatch(value, told);
    }
    barrier.run();
}

// At each memory offset the barrier has a number and state of its own, and what is written there is new again.
__device__ __forceinline__ GridBarrierArguments at_offset(const GridBarrierArguments &arguments, u32 offset) {
    GridBarrierArguments here = arguments;
    here.memory = static_cast<char *>(arguments.memory) + offset * arguments.offset_distance;
    here.slot += offset * arguments.slot_distance;
    here.generation += offset;
    return here;
}

// The barrier in the harness.
template <typename Barrier>
struct Meeting : Barrier {
    __device__ __forceinline__ explicit Meeting(const GridBarrierArguments &arguments) : Barrier(arguments) {
        meet<Barrier>(*this, arguments, 0);
    }

    __device__ __forceinline__ void finish(const GridBarrierArguments &arguments) {
        meet<Barrier>(*this, arguments, 1);
    }

    // At each place of the tour, with blocks that come at different times, `iterations` times.
    __device__ static void check(const GridBarrierArguments &arguments) {
        u32 offset = 0;
#pragma unroll 1
        do {
            const GridBarrierArguments here = at_offset(arguments, offset);
            Meeting barrier(here);
#pragma unroll 1
            for (u32 round = 1; round <= arguments.iterations; round++) {
                dawdle((blockIdx.x * 7 + roster.device * 3 + round * 5) % 32);
                meet<Barrier>(barrier, here, round);
            }
        } while (++offset < arguments.offsets);
    }
};

#define SYNCSCOPE_MEETINGS(Barrier)                                                                                   \
    SYNCSCOPE_KERNEL baseline(const Arguments arguments) {                                                            \
        measure<Repeated<1>, Together, Meeting<Barrier>>(arguments);                                                  \
    }                                                                                                                 \
    SYNCSCOPE_KERNEL test(const Arguments arguments) { measure<Repeated<2>, Together, Meeting<Barrier>>(arguments); } \
    SYNCSCOPE_KERNEL check(const Arguments arguments) { Meeting<Barrier>::check(arguments); }
