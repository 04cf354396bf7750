// What barriers of a grid and of several devices have in common: how a wait is limited, and how a barrier is checked.
//
// A file with such barriers defines `struct Barrier` with what the harness needs and `u32 epoch`, the number of
// barriers passed so far, and ends with `SYNCSCOPE_GRID_BARRIERS`. Every launch is checked while it is measured. At
// each memory offset all threads check the barrier once before the warm-up, which also lets the kernels of several
// devices begin together, and once after the clock was read. In a check each thread writes, passes the barrier, and
// reads what a thread of another block wrote. One thread of each block does the same with another device. All these
// accesses are plain, because the barrier promises that they are visible. Two threads that read each other's word are
// the litmus test of store buffering, the others that of message passing. The kernel `check` repeats this many times,
// with blocks that arrive late.
//
// With SYNCSCOPE_RELAXED=1 the barriers order no memory accesses. Their check tests only that all have arrived; see
// `announce`.
// SYNCSCOPE_WEAKENED=n is a fault for tests: the barrier lacks its nth ordering, and the check has to notice.
#pragma once
#include "harness.cuh"

namespace syncscope {

#ifndef SYNCSCOPE_RELAXED
#define SYNCSCOPE_RELAXED 0
#endif
constexpr bool IS_ORDERED = SYNCSCOPE_RELAXED == 0;

#ifndef SYNCSCOPE_WEAKENED
#define SYNCSCOPE_WEAKENED 0
#endif

// Whether a barrier has the ordering of this number. Each barrier numbers its own, from 1.
template <u32 NUMBER>
constexpr bool ORDERS = IS_ORDERED && SYNCSCOPE_WEAKENED != NUMBER;

constexpr u32 MOST_DEVICES = 16;

// What the checks of all launches counted; `multi/phase_counts.rs` has the same structure.
struct PhaseCounts {
    u32 timeouts;    // waits that exceeded the limit
    u32 mismatches;  // values other than those written before the barrier
    u32 thread;      // one of the threads concerned
    u32 reserved;
    u64 expected;
    u64 found;
};

// What the devices write for each other at one memory offset. Each part is in a line of its own.
struct Exchange {
    u32 counter;
    u32 chosen_copy;  // of this device, plus 1; 0: not chosen yet
    u32 unused[30];
    u32 flags[MOST_DEVICES];  // one for each device that writes here
    u32 probe;                // added to, to measure how far away the flags are
    u32 unused_too[15];
};

// There are more copies of all exchanges, one after the other, so that flags can be in both halves of a cache.
constexpr u32 EXCHANGE_COPIES = 9;

// The devices of a case, written by the host before the first launch; `multi/loaded_program.rs` has the same structure.
struct DeviceTable {
    u64 limit_ns;  // a thread that waits longer gives up
    PhaseCounts *counts;
    u32 *phases;  // one for each thread of this device
    u32 device;   // 0 to devices - 1
    u32 devices;
    u64 copy_distance;                  // in exchanges, from one copy to the next
    Exchange *exchanges[MOST_DEVICES];  // of each device, one for each memory offset
    u32 *block_flags[MOST_DEVICES];     // of each device, one for each of its blocks
};

static_assert(sizeof(PhaseCounts) == 32 && sizeof(Exchange) == 256 && sizeof(DeviceTable) == 296,
              "the host's structures must be these");

__constant__ DeviceTable device_table;

// Polls between two readings of the clock. A reading takes about as long as a poll, so the limit costs a thousandth.
constexpr u32 POLLS = 1024;

// Polls of an answer between two tests of their count.
constexpr u32 POLLS_OF_A_ROUND = 4;

// Tests whether a wait must end: its limit has passed, another thread gave up, or the host requests it. Not inlined, so
// that the timed code has one call that is never taken, and no second clock. Returns the time at which the wait must
// end; 0: now.
__device__ __noinline__ u64 check_deadline(const volatile u32 *abort, u64 deadline) {
    const u64 now = read_global_timer();
    if (deadline == 0) deadline = now + device_table.limit_ns;
    const bool ends =
        now > deadline || *abort != 0 || *static_cast<volatile u32 *>(&device_table.counts->timeouts) != 0;
    if (ends) atomicAdd(&device_table.counts->timeouts, 1u);
    return ends ? 0 : deadline;
}

// The limit of the waits of one thread. A thread that gave up never waits again, so that the kernel ends.
struct WaitLimit {
    const volatile u32 *abort;
    bool expired = false;

    __device__ __forceinline__ explicit WaitLimit(const volatile u32 *abort) : abort(abort) {}

    template <typename Condition>
    __device__ __forceinline__ void wait_for(Condition holds) {
        u64 deadline = 0;
        while (!expired) {
            // As a program would poll, with a count. One branch, as each further one would take part of a poll.
            u32 left = POLLS, goes_on;
#pragma unroll 1
            do {
                goes_on = (u32)!holds() & (u32)(--left != 0);
                asm volatile("" : "+r"(goes_on));
            } while (goes_on);
            if (left != 0) return;
            deadline = check_deadline(abort, deadline);
            expired = deadline == 0;
        }
    }

    // The same of two that answer each other, where the way out of a poll counts: it is that of a program's own loop,
    // because the count stands behind several polls.
    template <typename Condition>
    __device__ __forceinline__ void wait_for_answer(Condition holds) {
        u64 deadline = 0;
        for (u32 left = expired ? 1 : POLLS / POLLS_OF_A_ROUND;;) {
#pragma unroll
            for (u32 poll = 0; poll < POLLS_OF_A_ROUND; poll++) {
                if (holds()) return;
            }
            if (--left != 0) continue;
            if (expired) return;
            deadline = check_deadline(abort, deadline);
            left = POLLS / POLLS_OF_A_ROUND;
            expired = deadline == 0;
            if (expired) return;
        }
    }
};

// Whether `count`, which only grows and may wrap, has reached `target`.
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

__device__ __forceinline__ u32 load_relaxed_gpu(const u32 *word) {
    u32 value;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
    return value;
}

__device__ __forceinline__ uint4 load_relaxed_gpu(const uint4 *words) {
    uint4 value;
    asm volatile("ld.relaxed.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
                 : "l"(words)
                 : "memory");
    return value;
}

__device__ __forceinline__ u32 load_relaxed_system(const u32 *word) {
    u32 value;
    asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
    return value;
}

// Halves of a fence. From compute capability 9.0 on the half that acquires only empties the first-level cache
// (CCTL.IVALL) and does not wait for the thread's own writes (MEMBAR), as the whole fence does.
#if __CUDA_ARCH__ >= 900
__device__ __forceinline__ void fence_acquire_gpu() { asm volatile("fence.acquire.gpu;" ::: "memory"); }
__device__ __forceinline__ void fence_release_gpu() { asm volatile("fence.release.gpu;" ::: "memory"); }
__device__ __forceinline__ void fence_acquire_system() { asm volatile("fence.acquire.sys;" ::: "memory"); }
__device__ __forceinline__ void fence_release_system() { asm volatile("fence.release.sys;" ::: "memory"); }
#else
__device__ __forceinline__ void fence_acquire_gpu() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }
__device__ __forceinline__ void fence_release_gpu() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }
__device__ __forceinline__ void fence_acquire_system() { asm volatile("fence.acq_rel.sys;" ::: "memory"); }
__device__ __forceinline__ void fence_release_system() { asm volatile("fence.acq_rel.sys;" ::: "memory"); }
#endif

__device__ __forceinline__ void add_one_release_gpu(u32 *word) {
    asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(word) : "memory");
}

__device__ __forceinline__ void add_one_relaxed_gpu(u32 *word) {
    asm volatile("red.relaxed.gpu.global.add.u32 [%0], 1;" ::"l"(word) : "memory");
}

// The cycles of an atomic addition of nothing and its way back, of some that follow each other, at best. Additions go
// to the half of the second-level cache that keeps the word; reads may find a copy in the near half, and show less of
// it. On an H200 the near half takes 270 to 310 cycles and the far one 480 to 550.
__device__ __noinline__ u32 atomic_latency(u32 *word) {
    constexpr u32 TIMES = 5, ADDITIONS = 4;
    u32 least = ~0u;
#pragma unroll 1
    for (u32 time = 0; time < TIMES; time++) {
        u32 value = 0;
        const u32 start = read_clock_low();
        // Each addition needs the result of the one before; the highest bit of a count is 0.
#pragma unroll
        for (u32 number = 0; number < ADDITIONS; number++) {
            asm volatile("atom.relaxed.gpu.global.add.u32 %0, [%1], 0;"
                         : "=r"(value)
                         : "l"(word + (value >> 31))
                         : "memory");
        }
        // The clock is read when the last value is here.
        if (value >> 31 != 0) break;
        least = min(least, (read_clock_low() - start) / ADDITIONS);
    }
    return least;
}

// Waits some cycles, in steps of about 30.
__device__ __forceinline__ void pause_cycles(u32 cycles) {
    const u32 start = read_clock_low();
    while (read_clock_low() - start < cycles) {
    }
}

__device__ __forceinline__ void store_release_gpu(u32 *word, u32 value) {
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
}

// The state of the barrier at this memory offset.
__device__ __forceinline__ u32 *state_of(const GridBarrierArguments &arguments) {
    return static_cast<u32 *>(arguments.memory);
}

// Counts a mismatch, and keeps the values of the first one.
__device__ __forceinline__ void count_mismatch(u32 expected, u32 found) {
    PhaseCounts &counts = *device_table.counts;
    if (atomicAdd(&counts.mismatches, 1u) == 0) {
        counts.thread = grid_thread();
        counts.expected = expected;
        counts.found = found;
    }
}

// Writes what another thread will read after a relaxed barrier, which does not order the write. The thread reads it
// back before it arrives, so the write has reached the memory that all read. A relaxed read of another thread that does
// not find it was too early.
__device__ __forceinline__ void announce(u32 *word, u32 value) {
    asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
    const u32 found = load_relaxed_system(word);
    if (found != value) count_mismatch(value, found);
}

// Writes what another thread will read after an ordered barrier. Where `repeats` is not 0, the thread writes the value
// of the round before so many times first. The words of 32 blocks are in one line, so the last write waits in a queue
// of the second-level cache, while the arrival at the barrier goes to another part of it and may overtake the write.
// A barrier that releases prevents this.
__device__ __forceinline__ void publish(u32 *word, u32 value, u32 repeats) {
#pragma unroll 1
    for (u32 repeat = 0; repeat < repeats; repeat++) {
        store_plain(word, value - 1);
    }
    store_plain(word, value);
}

// Where a thread of the grid writes: in its own place, or far from its neighbours, so that the writes of a warp go to
// as many lines as it has threads and the last of them are late.
__device__ __forceinline__ u32 place_of(u32 thread, u32 round) {
    return round / 8 % 2 == 0 ? thread : thread % gridDim.x * blockDim.x + thread / gridDim.x;
}

// Checks the barrier once: it takes two barriers, because no thread may write again before all have read. The
// generation makes each value a new one. After four rounds a block has the same partner again, whose words its
// first-level cache may still hold.
template <typename Operation>
__device__ __forceinline__ void check_once(Operation &barrier, const GridBarrierArguments &arguments, u32 round,
                                           u32 repeats) {
    const u32 value = arguments.generation * 64 + round % 64, shift = gridDim.x / 2 + round % 4;
    const u32 partner = (blockIdx.x + shift) % gridDim.x;
    const bool writes_flag = threadIdx.x == blockDim.x - 1;
    u32 *const flags = device_table.block_flags[device_table.device];
    u32 *const phases = device_table.phases;
    u32 *const mine = phases + place_of(grid_thread(), round);
    if constexpr (IS_ORDERED) {
        publish(mine, value, repeats);
        if (writes_flag) publish(flags + blockIdx.x, value, repeats);
    } else {
        announce(mine, value);
        if (writes_flag) announce(flags + blockIdx.x, value);
    }
    barrier.run();
    const u32 *const phase = phases + place_of(partner * blockDim.x + threadIdx.x, round);
    const u32 found = IS_ORDERED ? load_plain(phase) : load_relaxed_system(phase);
    if (found != value) count_mismatch(value, found);
    if (writes_flag) {
        const u32 other = (device_table.device + 1 + round % 3) % device_table.devices;
        const u32 *const word = device_table.block_flags[other] + partner;
        const u32 flag = IS_ORDERED ? load_plain(word) : load_relaxed_system(word);
        if (flag != value) count_mismatch(value, flag);
    }
    barrier.run();
}

// At each memory offset the barrier has a number and state of its own, and another generation.
__device__ __forceinline__ GridBarrierArguments at_offset(const GridBarrierArguments &arguments, u32 offset) {
    GridBarrierArguments here = arguments;
    here.memory = static_cast<char *>(arguments.memory) + offset * arguments.offset_distance;
    here.slot += offset * arguments.slot_distance;
    here.generation += offset;
    return here;
}

// The operation between parties that are late in turn, of which this is number `who`, at each memory offset.
template <class Operation>
__device__ void check_in_turn(const GridBarrierArguments &arguments, u32 who) {
    u32 offset = 0;
#pragma unroll 1
    do {
        Operation operation(at_offset(arguments, offset));
#pragma unroll 1
        for (u32 round = 0; operation.takes_part() && round < 2 * arguments.iterations; round++) {
            delay((who * 7 + round * 5) % 32);
            operation.run();
        }
        __syncwarp();
        operation.finish(arguments);
        __syncthreads();
    } while (++offset < arguments.offsets);
}

// The barrier as an operation of the harness, with its checks.
template <typename Barrier>
struct CheckedBarrier : Barrier {
    __device__ __forceinline__ explicit CheckedBarrier(const GridBarrierArguments &arguments) : Barrier(arguments) {
        check_once<Barrier>(*this, arguments, 0, 0);
    }

    __device__ __forceinline__ void finish(const GridBarrierArguments &arguments) {
        check_once<Barrier>(*this, arguments, 1, 0);
    }

    // None, few and many, with each partner; then by every other block alone. If all writes are late, what a barrier
    // does with those of one block may hide what it lacks for those of another.
    __device__ __forceinline__ static u32 repeated_writes(u32 round) {
        const u32 kind = round / 4 % 4;
        const bool is_spared = round / 16 % 2 == 1 && (blockIdx.x + round) % 2 == 0;
        return kind == 0 || is_spared ? 0 : 1u << 3 * kind;
    }

    // At each memory offset, with blocks that arrive at different times and writes that are late, `iterations` times.
    __device__ static void check(const GridBarrierArguments &arguments) {
        u32 offset = 0;
#pragma unroll 1
        do {
            const GridBarrierArguments here = at_offset(arguments, offset);
            CheckedBarrier barrier(here);
#pragma unroll 1
            for (u32 round = 1; round <= arguments.iterations; round++) {
                delay((blockIdx.x * 7 + device_table.device * 3 + round * 5) % 32);
                check_once<Barrier>(barrier, here, round, repeated_writes(round));
            }
        } while (++offset < arguments.offsets);
    }
};

#define SYNCSCOPE_GRID_BARRIERS(Barrier) SYNCSCOPE_GRID_BARRIERS_AS(SYNCSCOPE_KERNEL, Barrier)

#define SYNCSCOPE_GRID_BARRIERS_AS(KERNEL, Barrier) SYNCSCOPE_GRID_BARRIERS_CHECKED(KERNEL, Barrier, Barrier)

// Another one is checked in the kernel `check`: the same under stress.
#define SYNCSCOPE_GRID_BARRIERS_CHECKED(KERNEL, Barrier, Stressed)                                    \
    KERNEL syncscope_baseline(const Arguments arguments) {                                            \
        measure<Repeated<1>, Together, CheckedBarrier<Barrier>>(arguments);                           \
    }                                                                                                 \
    KERNEL syncscope_test(const Arguments arguments) {                                                \
        measure<Repeated<2>, Together, CheckedBarrier<Barrier>>(arguments);                           \
    }                                                                                                 \
    KERNEL syncscope_check(const Arguments arguments) { CheckedBarrier<Stressed>::check(arguments); } \
    SYNCSCOPE_THIRD(KERNEL, Repeated, Together, CheckedBarrier<Barrier>)

}  // namespace syncscope
