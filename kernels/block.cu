// Barriers of a thread block (gpu.block).
//
// KIND selects the barrier. GROUPS is 1, or 2 if the block has several parts; each has a named barrier of its own.
// A named barrier counts BARRIER_THREADS threads, a constant as in the programs that use one: with number and count
// both in registers, three dependent instructions pack them in each operation.
#include "harness.cuh"

using Arguments = RegisterArguments;

enum Kind { PLAIN, COUNT, AND, OR, NAMED, PRODUCER_CONSUMER };

struct Operation {
    u32 value;    // what the last reducing barrier returned
    u32 barrier;  // 1 or more; the harness uses 0

    // Both halves of a producer and consumer pair count at both barriers; a half is a number of whole warps.
    __device__ __forceinline__ explicit Operation(const Arguments &arguments)
        : value(arguments.opaque_one),
          barrier(KIND == PRODUCER_CONSUMER ? (threadIdx.x < BARRIER_THREADS / 64 * 32 ? 1 : 2)
                                            : (GROUPS == 1 ? 1 : 1 + threadIdx.x / BARRIER_THREADS)) {}

    // The first half of the warps produces: it arrives when a buffer is full, without waiting, and then waits until the
    // buffer is empty. The other half waits until it is full, and arrives when it is empty.
    __device__ __forceinline__ void pass_buffer() {
        if (barrier == 1) {
            asm volatile("bar.arrive 1, %0;" ::"n"(BARRIER_THREADS) : "memory");
            asm volatile("bar.sync 2, %0;" ::"n"(BARRIER_THREADS) : "memory");
        } else {
            asm volatile("bar.sync 1, %0;" ::"n"(BARRIER_THREADS) : "memory");
            asm volatile("bar.arrive 2, %0;" ::"n"(BARRIER_THREADS) : "memory");
        }
    }

    // The condition of a reducing barrier is the result of the one before.
    __device__ __forceinline__ void run() {
        if constexpr (KIND == PLAIN) __syncthreads();
        if constexpr (KIND == COUNT) value = __syncthreads_count(value);
        if constexpr (KIND == AND) value = __syncthreads_and(value);
        if constexpr (KIND == OR) value = __syncthreads_or(value);
        if constexpr (KIND == PRODUCER_CONSUMER) pass_buffer();
        if constexpr (KIND == NAMED) asm volatile("bar.sync %0, %1;" ::"r"(barrier), "n"(BARRIER_THREADS) : "memory");
    }

    __device__ __forceinline__ void finish(const Arguments &arguments) {
        if constexpr (KIND == COUNT || KIND == AND || KIND == OR) {
            static_cast<u32 *>(arguments.memory)[grid_thread()] = value;
        }
    }

    __device__ static void check(const Arguments &arguments) {
        check_barrier<Operation>(arguments, KIND == NAMED ? BARRIER_THREADS : blockDim.x);
        if constexpr (KIND == COUNT || KIND == AND || KIND == OR) check_result(arguments);
    }

    // The condition holds for no thread, the first, every second, all but the first, all.
    __device__ static void check_result(const Arguments &arguments) {
        const u32 all = blockDim.x, half = (all + 1) / 2;
        const u32 yes[] = {0, threadIdx.x == 0, threadIdx.x % 2 == 0, threadIdx.x != 0, 1},
                  many[] = {0, 1, half, all - 1, all};
        Operation barrier(arguments);
#pragma unroll
        for (u32 test = 0; test < 5; test++) {
            barrier.value = yes[test];
            barrier.run();
            const u32 count = many[test], found = KIND == COUNT ? barrier.value : barrier.value != 0;
            const u32 expected = KIND == COUNT ? count : KIND == AND ? count == all : count != 0;
            if (found != expected) report_mismatch(arguments, expected, found);
        }
    }
};

template <>
constexpr Meets syncscope::MEETS<Operation> = Meets::BLOCK;

SYNCSCOPE_KERNELS
