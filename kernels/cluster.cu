// Barriers of a cluster of blocks (gpu.cluster).
//
// KIND selects the barrier. With SYNCSCOPE_RELAXED=1 the arrival orders no memory accesses.
#include "cluster.cuh"

#ifndef SYNCSCOPE_RELAXED
#define SYNCSCOPE_RELAXED 0
#endif
constexpr bool IS_ORDERED = SYNCSCOPE_RELAXED == 0;

using Arguments = RegisterArguments;

enum Kind { SYNC, ARRIVE_WAIT };

__device__ __forceinline__ void arrive_in_order() {
    if constexpr (IS_ORDERED) {
        arrive();
    } else {
        arrive_relaxed();
    }
}

// Work that does not depend on the barrier: alone in the baseline, between the arrival and the wait in the test.
template <int COUNT>
struct AroundWork {
    static constexpr u32 WARM_UP_ITERATIONS = 1;

    template <int PATH, typename Operation>
    __device__ __forceinline__ static void run(Operation &operation) {
        if constexpr (COUNT == 2) arrive_in_order();
        operation.work();
        if constexpr (COUNT == 2) wait();
    }
};

template <int COUNT, Kind WHICH>
struct BodyOf : Repeated<COUNT> {};
template <int COUNT>
struct BodyOf<COUNT, ARRIVE_WAIT> : AroundWork<COUNT> {};
template <int COUNT>
using Body = BodyOf<COUNT, KIND>;

struct Operation {
    u32 value;

    __device__ __forceinline__ explicit Operation(const Arguments &arguments) : value(arguments.opaque_one) {}

    __device__ __forceinline__ void run() {
        arrive_in_order();
        wait();
    }

    // Sixteen dependent multiplications, some 64 cycles: about a third of a barrier.
    __device__ __forceinline__ void work() {
#pragma unroll
        for (int step = 0; step < 16; step++) asm volatile("mad.lo.u32 %0, %0, %0, 1;" : "+r"(value));
    }

    __device__ __forceinline__ void finish(const Arguments &arguments) {
        if constexpr (KIND == ARRIVE_WAIT) static_cast<u32 *>(arguments.memory)[grid_thread()] = value;
    }

    __device__ static void check(const Arguments &arguments) {
        Operation barrier(arguments);
        check_cluster_barrier<IS_ORDERED>(arguments, barrier, [&] {
            if constexpr (KIND == SYNC) {
                barrier.run();
            } else {
                AroundWork<2>::run<0>(barrier);
            }
        });
    }
};

template <>
constexpr Meets syncscope::MEETS<Operation> = Meets::CLUSTER;

SYNCSCOPE_CLUSTER_KERNELS(Body)
