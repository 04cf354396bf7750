// Two counters of arrivals, one in each half of the second-level cache. A block adds to the near one alone, so neither
// its addition nor the fence before the next one has the long way, and reads both at the same time: their sum is the
// number that have arrived, because no block arrives again before all have.
//
// The state of the barrier has a line for the choice of the counters, then, from the next page of the memory on, those
// to choose from; `state_bytes` in `grid.rs` reserves as much. A page that began within another one would lie in two.
#pragma once
#include "grid_barrier.cuh"

struct NearCounters {
    u32 *near;
    u32 *far;
    u32 *central;     // a word whose farthest block is the nearest
    u32 round_trips;  // the cycles of an addition to the near and to the far counter, together; the same for all blocks

    static constexpr u32 PAGE_BYTES = 4096, PAGE_WORDS = PAGE_BYTES / sizeof(u32), FIRST_PAGE = 32, PAGES = 16;

    // Words of the first line after the choice, and of a page: not in the line of a counter.
    static constexpr u32 MEASURED = 1, ROUND_TRIPS = 2, WORST = 8, CENTRAL = 128;

    // Which half keeps a page is the secret of the hardware, so latencies decide. In the first launch at a memory
    // offset all blocks measure all pages, and the first block chooses one of each half: that whose farthest block is
    // the nearest. (With one counter a barrier of an H200 takes 1,510 to 1,640 cycles, depending on its page.) The
    // choice stays for all launches, because the counts go on. To be called by one thread of each block.
    __device__ __forceinline__ void choose(u32 *state, WaitLimit &limit) {
        u32 chosen = load_relaxed_gpu(state);
        if (chosen == 0) {
            measure_pages(state, limit.abort);
            limit.wait_for([&] { return (chosen = load_acquire_gpu(state)) != 0; });
        }
        // A block that gave up does not wait for the counters either.
        near = page(state, (chosen - 1) % PAGES);
        far = page(state, (chosen - 1) / PAGES % PAGES);
        central = page(state, (chosen - 1) / PAGES / PAGES % PAGES) + CENTRAL;
        round_trips = load_relaxed_gpu(state + ROUND_TRIPS);
        if (atomic_latency(near) > atomic_latency(far)) {
            u32 *const other = near;
            near = far;
            far = other;
        }
    }

    // Adds this block, after what it wrote.
    __device__ __forceinline__ void arrive() {
        if constexpr (ORDERS<1>) {
            add_one_release_gpu(near);
        } else {
            add_one_relaxed_gpu(near);
        }
    }

    // Waits until the additions of the others have arrived, so that the first read is not too early: the next one would
    // return a round trip later. Fences end at different times, so the ordered pause is longer. All blocks wait as
    // long. Measured on an H200 with one block of 32 threads on each multiprocessor, ordered: after 230 cycles 1,405,
    // after 260 1,397, after 290 1,410, after 200 and 320 more than 1,420; after 2/7 of both round trips 1,419 to
    // 1,427. Relaxed, after 140 cycles 783, after 180 795, after 220 815.
    __device__ __forceinline__ void pause() const { pause_cycles(IS_ORDERED ? round_trips * 2 / 7 : round_trips / 5); }

    __device__ __forceinline__ bool have_arrived(u32 target) const {
        const u32 there = load_relaxed_gpu(far), here = load_relaxed_gpu(near);
        return reached(there + here, target);
    }

    __device__ __forceinline__ static u32 *page(u32 *state, u32 number) {
        const u64 first = reinterpret_cast<u64>(state + FIRST_PAGE);
        return reinterpret_cast<u32 *>((first + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES) + number * PAGE_WORDS;
    }

   private:
    // Counts the blocks that have measured and keeps the worst latency of each page. Not a method of an object, so that
    // barriers stay in registers.
    __device__ __noinline__ static void measure_pages(u32 *state, const volatile u32 *abort) {
        u32 *const measured = state + MEASURED, *const worst = state + WORST;
        u32 least = ~0u, most = 0;
        for (u32 number = 0; number < PAGES; number++) {
            // Not all blocks at the same page at the same time.
            const u32 here = (number + blockIdx.x) % PAGES, latency = atomic_latency(page(state, here));
            atomicMax(worst + here, latency);
            least = min(least, latency);
            most = max(most, latency);
        }
        __threadfence();
        atomicAdd(measured, 1u);
        if (blockIdx.x != 0) return;
        WaitLimit limit(abort);
        limit.wait_for([&] { return load_acquire_gpu(measured) == gridDim.x; });
        u32 is_far = 0;
        for (u32 number = 0; number < PAGES; number++) {
            if (atomic_latency(page(state, number)) > (least + most) / 2) is_far |= 1u << number;
        }
        const u32 first = best_page(worst, ~is_far, ~0u);
        const u32 second = best_page(worst, is_far, ~(1u << first));
        const u32 central = best_page(worst, ~0u, ~0u);
        state[ROUND_TRIPS] = atomic_latency(page(state, first)) + atomic_latency(page(state, second));
        store_release_gpu(state, 1 + first + second * PAGES + central * PAGES * PAGES);
    }

    // The page of least worst latency among these; among the others, if there is none.
    __device__ static u32 best_page(const u32 *worst, u32 among, u32 others) {
        constexpr u32 ALL = (1u << PAGES) - 1;
        const u32 from = (among & ALL) != 0 ? among : others;
        u32 best = 0, least = ~0u;
        for (u32 number = 0; number < PAGES; number++) {
            const u32 latency = load_relaxed_gpu(worst + number);
            if ((from >> number & 1) != 0 && latency < least) least = latency, best = number;
        }
        return best;
    }
};

// The addresses of several counters need more registers than two full blocks of a multiprocessor have.
#define SYNCSCOPE_ROOMY_KERNEL extern "C" __global__ void __launch_bounds__(1024, 1)
