// One operation, repeated in a chain between two clock reads, and nothing else (`syncscope paper
// crosscheck`).
//
// The host times the same launches. Figure 5 and section 3.2 of Zhang, Wahib, Matsuoka, "A Study of Synchronization
// Methods in Modern GPUs". KIND selects the operation. BODY operations follow one another in a loop, TAIL more come
// after it; with BODY=0 there is no loop. A loop with one iteration is straight code. The kernel reads no other clock
// and waits for nothing, so that launches of one kernel differ only in their repetitions.
#include "harness.cuh"

// The result of chains of one operation.
struct ChainResult {
    u64 cycles;      // of the last chain, by the clock of the multiprocessor
    u32 mismatches;  // threads that found an unexpected value, in all launches
    u32 reserved;
    Rate rate;  // of the last measurement of the clock
};

// The arguments of one launch of a chain, or of the measurement of the clock.
struct ChainArguments {
    ChainResult *result;
    u32 iterations;  // of the loop; cycles of the measurement of the clock
    u32 expected;    // the value that each thread finds at the end: the additions, or what another thread wrote
    u32 opaque_one;  // 1
    u32 opaque_zero;
};

// `gpu.rs` lays them out.
static_assert(sizeof(ChainResult) == 32 && sizeof(ChainArguments) == 24, "the host passes other structures");

using Arguments = ChainArguments;

enum Kind { FLOAT_ADDITION, BLOCK_BARRIER };

#define TWICE(text) text text
#define TIMES_64(text) TWICE(TWICE(TWICE(TWICE(TWICE(TWICE(text))))))

struct Chain {
    float sum;
    float step;

    // Inline PTX: a compiler that knows the terms adds them up itself. Rounding is exact below 2^24.
    template <int COUNT>
    __device__ __forceinline__ void run() {
        if constexpr (COUNT >= 128) {
            run<COUNT / 2>();
            run<COUNT - COUNT / 2>();
        } else if constexpr (COUNT >= 64 && KIND == FLOAT_ADDITION) {
            asm volatile(TIMES_64("add.rn.f32 %0, %0, %1;\n\t") : "+f"(sum) : "f"(step));
            run<COUNT - 64>();
        } else if constexpr (COUNT > 0) {
            if constexpr (KIND == FLOAT_ADDITION) asm volatile("add.rn.f32 %0, %0, %1;" : "+f"(sum) : "f"(step));
            if constexpr (KIND == BLOCK_BARRIER) __syncthreads();
            run<COUNT - 1>();
        }
    }
};

// Longer code without a branch takes the compiler minutes. A branch that is never taken costs some ten cycles, once in
// LONGEST_BLOCK operations. It depends on a clock read, because the compiler removes a second test of one value.
constexpr int LONGEST_BLOCK = 8192;

template <int COUNT>
__device__ __forceinline__ void run_body(Chain &chain, u32 zero) {
    if constexpr (COUNT > LONGEST_BLOCK) {
        chain.run<LONGEST_BLOCK>();
        if (read_clock_low() & zero) return;
        run_body<COUNT - LONGEST_BLOCK>(chain, zero);
    } else {
        chain.run<COUNT>();
    }
}

extern "C" __global__ void __launch_bounds__(1024) chain(const Arguments arguments) {
    __shared__ volatile u32 written[1024];
    // Each thread begins with its number: equal sums of a warp would be added in its uniform registers (sm_120).
    Chain chain{(float)threadIdx.x, (float)arguments.opaque_one};
    if constexpr (KIND == BLOCK_BARRIER) written[threadIdx.x] = arguments.expected;
    const u64 start = read_clock();
    if constexpr (BODY > 0) {
#pragma unroll 1
        for (u32 iteration = 0; iteration < arguments.iterations; iteration++)
            run_body<BODY>(chain, arguments.opaque_zero);
    }
    chain.run<TAIL>();
    const u64 stop = read_clock();
    // The sum counts the additions. A barrier makes visible what the thread half a block away wrote before it.
    const u32 found =
        KIND == FLOAT_ADDITION ? (u32)chain.sum - threadIdx.x : written[(threadIdx.x + blockDim.x / 2) % blockDim.x];
    if (found != arguments.expected) atomicAdd(&arguments.result->mismatches, 1u);
    if (threadIdx.x == 0) arguments.result->cycles = stop - start;
}

// Measures the length of a cycle: `iterations` cycles by both clocks. It converts the times of the launches before it.
extern "C" __global__ void clock_rate(const Arguments arguments) {
    const TimePoint before = next_step_of_global_timer();
    const u32 start = read_clock_low();
#pragma unroll 1
    while (read_clock_low() - start < arguments.iterations) {
    }
    const TimePoint after = next_step_of_global_timer();
    const u64 elapsed = after.nanoseconds - before.nanoseconds;
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        arguments.result->rate = Rate{before.exact && after.exact ? elapsed : 0, after.cycles_low - before.cycles_low};
    }
}
