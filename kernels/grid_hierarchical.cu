// Barriers of all threads of a grid that try to be faster than one counter (gpu.grid.hierarchical). Compute capability
// 9.0 or later.
//
// KIND selects the barrier, RELAXED=1 the one that orders no memory accesses. ABSENT=1 is a fault for tests: the last
// block does not arrive, except in clusters, whose own barrier has no limit. All of them are split in the same way:
// the writes of a block are made visible to its first thread by the barrier of the block, that thread releases them,
// the polls are relaxed, and one fence at the end acquires. In the memory model of PTX a release (red.release, or
// fence.release and a relaxed addition after it) synchronizes with a relaxed read that observes the addition and with
// the fence.acquire after that read. Additions to one counter continue each other, so a read of the whole count
// observes all of them. What a block acquires, its second barrier passes on to its other threads.
#include "cluster.cuh"
#include "grid_barrier.cuh"

using Arguments = GridBarrierArguments;

#ifndef ABSENT
#define ABSENT 0
#endif

enum Kind { ACQUIRE_FENCE, PAUSED_ACQUIRE, TWO_COUNTERS, CLUSTER };

struct Barrier {
    u32 *state;
    u32 *near;  // TWO_COUNTERS: the counter that this block reads, and the other one
    u32 *far;
    u32 arrivals;    // that one barrier adds to a counter
    bool is_leader;  // whether this block adds and waits
    u32 epoch;       // barriers passed at this memory offset
    WaitLimit limit;

    __device__ __forceinline__ explicit Barrier(const Arguments &arguments)
        : state(state_of(arguments)),
          near(state),
          far(state),
          arrivals(gridDim.x),
          is_leader(true),
          epoch((u32)arguments.barriers_passed),
          limit(arguments.abort) {
        if constexpr (KIND == CLUSTER) {
            arrivals /= cluster_blocks();
            is_leader = cluster_rank() == 0;
        }
        if constexpr (KIND == TWO_COUNTERS) {
            if (threadIdx.x == 0) choose_counters();
            __syncthreads();
        }
    }

    __device__ __forceinline__ void run() {
        if (ABSENT && KIND != CLUSTER && blockIdx.x == gridDim.x - 1) return;
        epoch++;
        if constexpr (KIND == CLUSTER) {
            in_clusters();
        } else {
            __syncthreads();
            if (threadIdx.x == 0) {
                if constexpr (KIND == TWO_COUNTERS) {
                    two_counters();
                } else {
                    counter();
                }
            }
            __syncthreads();
        }
    }

    // One counter. With a pause the first read arrives when the other blocks have arrived: fewer reads delay the
    // additions.
    __device__ __forceinline__ void counter() {
        arrive_at(state);
        if constexpr (KIND == PAUSED_ACQUIRE) pause();
        wait_for_count(state);
    }

    // In cycles: the best delay of `gpu.grid.counter`, see grid_kinds.cuh.
    __device__ __forceinline__ static void pause() {
        const u32 start = read_clock_low();
        while (read_clock_low() - start < 350) {
        }
    }

    __device__ __forceinline__ static void arrive_at(u32 *counter) {
        if constexpr (IS_ORDERED) {
            add_one_release_gpu(counter);
        } else {
            add_one_relaxed_gpu(counter);
        }
    }

    __device__ __forceinline__ void wait_for_count(const u32 *counter) {
        const u32 target = epoch * arrivals;
        limit.wait_for([&] { return reached(load_relaxed_gpu(counter), target); });
        if constexpr (IS_ORDERED) fence_acquire_gpu();
    }

    // A counter in each half of the second-level cache. Every block adds to both and reads the near one: a read takes
    // the shorter way, and each counter has half of the readers. One fence releases both additions.
    __device__ __forceinline__ void two_counters() {
        if constexpr (IS_ORDERED) fence_release_gpu();
        add_one_relaxed_gpu(far);
        add_one_relaxed_gpu(near);
        wait_for_count(near);
    }

    // Which half has an address is the secret of the hardware, so latencies decide. The first block measures the
    // candidates once for each memory offset, and keeps the nearest and the farthest; both stay the same for all
    // launches, because the counts go on. Each block then measures which of the two is nearer to itself.
    __device__ __forceinline__ void choose_counters() {
        u32 chosen = load_relaxed_gpu(state);
        if (blockIdx.x == 0 && chosen == 0) {
            u32 nearest = 0, farthest = 0, least = ~0u, most = 0;
#pragma unroll 1
            for (u32 number = 0; number < CANDIDATES; number++) {
                const u32 cycles = latency(candidate(number));
                if (cycles < least) least = cycles, nearest = number;
                if (cycles >= most) most = cycles, farthest = number;
            }
            store_release_gpu(state, 1 + nearest * CANDIDATES + farthest);
        }
        limit.wait_for([&] { return (chosen = load_acquire_gpu(state)) != 0; });
        // A block that gave up waits for no counter.
        if (chosen == 0) return;
        u32 *const first = candidate((chosen - 1) / CANDIDATES), *const second = candidate((chosen - 1) % CANDIDATES);
        const bool is_first = latency(first) <= latency(second);
        near = is_first ? first : second;
        far = is_first ? second : first;
    }

    // Likely a page of 4 KiB is in one half as a whole; sixteen pages are in one half only once in 2^15 cases.
    // `laboratory/multi.rs` reserves as much.
    static constexpr u32 CANDIDATES = 16, CANDIDATE_WORDS = 4096 / sizeof(u32), FIRST_CANDIDATE = 32;

    __device__ __forceinline__ u32 *candidate(u32 number) const {
        return state + FIRST_CANDIDATE + number * CANDIDATE_WORDS;
    }

    // Cycles of some reads, each of which needs the result of the one before, at best. The highest bit of a count is 0.
    __device__ __noinline__ static u32 latency(const u32 *word) {
        u32 least = ~0u;
#pragma unroll 1
        for (u32 time = 0; time < 3; time++) {
            u32 value = 0;
            const u32 start = read_clock_low();
#pragma unroll
            for (u32 read = 0; read < 5; read++) value = load_relaxed_gpu(word + (value >> 31));
            least = min(least, read_clock_low() - start);
        }
        return least;
    }

    // The blocks of a cluster gather first, so fewer blocks add to the counter and read it. The barriers of the cluster
    // are relaxed, with fences of one thread where they must order: the first thread of each block releases to the
    // cluster what its block wrote; the first block of the cluster acquires it, releases it with its addition, and
    // with one fence acquires the count and releases it to the cluster (PTX ISA, barrier.cluster: a fence before a
    // relaxed arrival; the wait acquires). A block that gives up still arrives, so no other block of its cluster waits
    // for ever.
    __device__ __forceinline__ void in_clusters() {
        if constexpr (IS_ORDERED) {
            __syncthreads();
            if (threadIdx.x == 0) fence_release_gpu();
        }
        pass_cluster();
        if (threadIdx.x == 0 && is_leader) {
            arrive_at(state);
            const u32 target = epoch * arrivals;
            limit.wait_for([&] { return reached(load_relaxed_gpu(state), target); });
            if constexpr (IS_ORDERED) asm volatile("fence.acq_rel.gpu;" ::: "memory");
        }
        pass_cluster();
    }

    // All threads of a warp arrive together.
    __device__ __forceinline__ static void pass_cluster() {
        __syncwarp();
        arrive_relaxed();
        wait();
    }
};

#if CLUSTERS
SYNCSCOPE_GRID_BARRIERS_AS(SYNCSCOPE_CLUSTER_KERNEL, Barrier)
#else
SYNCSCOPE_GRID_BARRIERS(Barrier)
#endif
