// Atomic additions to the shared memory of another block of the cluster (gpu.cluster.dsmem_atomic).
//
// MODE selects whether each addition waits for the result of the one before. All threads of a block add to one
// variable, or each to its own, `stride` elements apart. The compiler does not know which; otherwise it would add up
// the values of a warp first.
#include "cluster.cuh"

using Arguments = VariableArguments;

enum Mode { THROUGHPUT, LATENCY };

__shared__ u32 counters[1024];

struct Operation {
    u32 address;  // of the counter, in the next block of the cluster
    u32 old = 0;

    // No thread adds before the counters are cleared.
    __device__ __forceinline__ explicit Operation(const Arguments &arguments)
        : address(address_in((cluster_rank() + 1) % cluster_blocks(), &counters[threadIdx.x * arguments.stride])) {
        counters[threadIdx.x] = 0;
        arrive();
        wait();
    }

    // Each addition needs the result of the one before: it adds one and the highest bit of that result, which is 0.
    __device__ __forceinline__ void run() {
        if constexpr (MODE == LATENCY) {
            const u32 one = 1 + (old >> 31);
            asm volatile("atom.relaxed.cluster.shared::cluster.add.u32 %0, [%1], %2;"
                         : "=r"(old)
                         : "r"(address), "r"(one)
                         : "memory");
        } else {
            asm volatile("red.relaxed.cluster.shared::cluster.add.u32 [%0], 1;" ::"r"(address) : "memory");
        }
    }

    // The shared memory of a block must exist until all threads have added.
    __device__ __forceinline__ void finish(const Arguments &arguments) {
        arrive();
        wait();
        static_cast<u32 *>(arguments.memory)[grid_thread()] = old;
    }

    // No addition is lost.
    __device__ static void check(const Arguments &arguments) {
        constexpr u32 TIMES = 64;
        Operation adder(arguments);
#pragma unroll 1
        for (u32 time = 0; time < TIMES; time++) adder.run();
        adder.finish(arguments);
        const bool shared = arguments.stride == 0;
        if (shared && threadIdx.x != 0) return;
        const u32 expected = shared ? TIMES * blockDim.x : TIMES;
        const u32 found = *static_cast<volatile u32 *>(&counters[threadIdx.x]);
        if (found != expected) report_mismatch(arguments, expected, found);
    }
};

SYNCSCOPE_CLUSTER_KERNELS(Repeated)
