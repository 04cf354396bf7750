// Barriers of all threads of a grid that try to be faster than one counter (gpu.grid.hierarchical). Compute capability
// 9.0 or later.
//
// KIND selects the barrier, CLUSTERS=1 a launch in clusters, ROOMY=1 kernels with more registers, SYNCSCOPE_RELAXED=1
// the one that orders no memory accesses. ABSENT=1 is a fault for tests: the last block does not arrive, except in
// clusters, whose own barrier has no limit. All of them are split in the same way: the writes of a block are made
// visible to its first thread by the barrier of the block, that thread releases them, the polls are relaxed, and one
// fence at the end acquires. In the memory model of PTX a release (red.release, or fence.release and a relaxed addition
// after it) synchronizes with a relaxed read that observes the addition and with the fence.acquire after that read.
// Additions to one counter continue each other, so a read of the whole count observes all of them. What a block
// acquires, its second barrier passes on to its other threads.
#include "cluster.cuh"
#include "grid_barrier.cuh"
#include "near_counters.cuh"

using Arguments = GridBarrierArguments;

#ifndef ABSENT
#define ABSENT 0
#endif

enum Kind { PAUSED_ACQUIRE, NEAR_COUNTERS, SPREAD, CLUSTER };

// Counters of SPREAD, each in a page of its own.
constexpr u32 SPREAD_COUNTERS = 8;

struct Barrier {
    u32 *state;
    NearCounters near_counters;
    u32 arrivals;    // that one barrier adds to the counter that this thread reads
    bool is_leader;  // whether this block adds and waits
    u32 epoch;       // barriers passed at this memory offset
    WaitLimit limit;

    __device__ __forceinline__ explicit Barrier(const Arguments &arguments)
        : state(state_of(arguments)),
          arrivals(gridDim.x),
          is_leader(true),
          epoch((u32)arguments.barriers_passed),
          limit(arguments.abort) {
        if constexpr (KIND == CLUSTER) {
            arrivals /= cluster_blocks();
            is_leader = cluster_rank() == 0;
        }
        if constexpr (KIND == SPREAD) {
            const u32 watched = threadIdx.x % SPREAD_COUNTERS;
            arrivals = (gridDim.x - watched + SPREAD_COUNTERS - 1) / SPREAD_COUNTERS;
        }
        if constexpr (KIND == NEAR_COUNTERS) {
            if (threadIdx.x == 0) near_counters.choose(state, limit);
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
            if constexpr (KIND == SPREAD) {
                if (threadIdx.x < 32) spread();
            } else if (threadIdx.x == 0) {
                if constexpr (KIND == NEAR_COUNTERS) {
                    at_near_counters();
                } else {
                    counter();
                }
            }
            __syncthreads();
        }
    }

    // One counter. After a pause the first read arrives when the other blocks have arrived: fewer reads delay the
    // additions.
    __device__ __forceinline__ void counter() {
        arrive_at(state);
        pause_cycles(PAUSE);
        const u32 target = epoch * arrivals;
        limit.wait_for([&] { return reached(load_relaxed_gpu(state), target); });
        if constexpr (ORDERS<2>) fence_acquire_gpu();
    }

    // In cycles. Measured on an H200 with one block of 32 threads on each multiprocessor, ordered and relaxed: after
    // 180 cycles 1,620 and 899, after 220 1,605 and 887, after 260 1,560 and 915, after 300 1,502 and 940, after 350
    // 1,525 and 981.
    static constexpr u32 PAUSE = IS_ORDERED ? 300 : 220;

    __device__ __forceinline__ static void arrive_at(u32 *counter) {
        if constexpr (ORDERS<1>) {
            add_one_release_gpu(counter);
        } else {
            add_one_relaxed_gpu(counter);
        }
    }

    __device__ __forceinline__ void at_near_counters() {
        near_counters.arrive();
        near_counters.pause();
        const u32 target = epoch * gridDim.x;
        limit.wait_for([&] { return near_counters.have_arrived(target); });
        if constexpr (ORDERS<2>) fence_acquire_gpu();
    }

    // Many blocks on each multiprocessor: eight counters, because one address executes its additions one after the
    // other. A lane waits for each of them, until that one is complete. The pause grows with the additions. (H200,
    // ordered, with 264, 1,056, 2,112 and 4,224 blocks: 1,922, 2,605, 6,055 and 12,868 cycles after 300 cycles; 2,213,
    // 2,318, 4,521 and 11,852 after 700; 3,001, 3,082, 3,424 and 7,215 after 1,500; 3,993, 4,047, 4,371 and 5,719 after
    // 2,500.)
    __device__ __forceinline__ void spread() {
        if (threadIdx.x == 0) arrive_at(NearCounters::page(state, blockIdx.x % SPREAD_COUNTERS));
        __syncwarp();
        pause_cycles(max(PAUSE, gridDim.x * 5 / 8));
        const u32 target = epoch * arrivals;
        if (threadIdx.x < SPREAD_COUNTERS) {
            const u32 *const watched = NearCounters::page(state, threadIdx.x);
            limit.wait_for([&] { return reached(load_relaxed_gpu(watched), target); });
            // By each lane: a fence acquires what its own thread has read (PTX ISA, acquire patterns).
            if constexpr (ORDERS<2>) fence_acquire_gpu();
        }
        __syncwarp();
    }

    // The blocks of a cluster gather first, so fewer blocks add to the counter and read it. The barriers of the cluster
    // are relaxed, with fences of one thread where they must order: the first thread of each block releases to the
    // cluster what its block wrote; the first block of the cluster acquires it, releases it with its addition, and
    // with one fence acquires the count and releases it to the cluster (PTX ISA, barrier.cluster: a fence before a
    // relaxed arrival; the wait acquires). A block that gives up still arrives, so no other block of its cluster waits
    // for ever.
    __device__ __forceinline__ void in_clusters() {
        if constexpr (IS_ORDERED) __syncthreads();
        if constexpr (ORDERS<3>) {
            if (threadIdx.x == 0) fence_release_gpu();
        }
        pass_cluster();
        if (threadIdx.x == 0 && is_leader) {
            arrive_at(state);
            const u32 target = epoch * arrivals;
            limit.wait_for([&] { return reached(load_relaxed_gpu(state), target); });
            if constexpr (ORDERS<2>) asm volatile("fence.acq_rel.gpu;" ::: "memory");
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
#elif ROOMY
SYNCSCOPE_GRID_BARRIERS_AS(SYNCSCOPE_ROOMY_KERNEL, Barrier)
#else
SYNCSCOPE_GRID_BARRIERS(Barrier)
#endif
