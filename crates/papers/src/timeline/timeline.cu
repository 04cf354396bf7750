// Snippets whose warps are recorded on a common clock (`syncscope paper timeline`).
//
// The clock is read as in the snippet of "Cycle-accurate CUDA with an assembler": by `clock64()` in plain CUDA C++, so
// that the compiler decides what lies between the reads and what is waited for. The host makes the second version
// of each kernel by editing the machine code of this one.
#include "harness.cuh"

// The arguments of every kernel in this file; `gpu.rs` lays them out.
struct TimelineArguments {
    u64 *marks;            // start, arrival and stop of each warp: [round][block][warp][3]
    u64 *steps;            // global timer and cycle counter: [block][before, after][STEPS][2]
    u32 *multiprocessors;  // one for each block
    u32 *indices;          // two for each thread of a block, which the snippet reads before it uses them
    u32 *memory;           // variables of the snippet, cleared before each launch
    u32 *out;              // results of the snippet, one for each thread and round
    u32 late_cycles;       // by how much the late warp or block is late
    u32 rounds;            // times that the snippet runs in one launch
};

static_assert(sizeof(TimelineArguments) == 56, "the host's structure must be this");

// Steps of the global timer to record before and after the snippet.
constexpr u32 STEPS = 64;

// The most polls for one step. The timer steps at least once per microsecond on known devices.
constexpr u32 STEP_POLLS = 2000;

// The most polls of a snippet's spin.
constexpr u32 SPIN_POLLS = 1u << 16;

struct Marks {
    u64 start, arrival, stop;
};

// Records steps of the global timer with the cycle counter, by one thread of the block.
__device__ __noinline__ void record_steps(u64 *steps) {
    u64 last = read_global_timer();
#pragma unroll 1
    for (u32 step = 0; step < STEPS; step++) {
        u64 now = last, cycles = 0;
#pragma unroll 1
        for (u32 poll = 0; poll < STEP_POLLS && now == last; poll++) {
            now = read_global_timer();
            cycles = read_clock();
        }
        last = now;
        steps[2 * step] = now;
        steps[2 * step + 1] = cycles;
    }
}

// Work that takes a warp about `cycles` cycles.
__device__ __forceinline__ void be_late(u32 cycles) {
    const u32 start = read_clock_low();
    while (read_clock_low() - start < cycles) {
    }
}

template <typename Snippet>
__device__ __forceinline__ void record(const TimelineArguments &arguments) {
    const u32 warps = (blockDim.x + 31) / 32;
    u64 *const steps = arguments.steps + blockIdx.x * 4 * STEPS;
    Snippet snippet(arguments);
    if (threadIdx.x == 0) record_steps(steps);
#pragma unroll 1
    for (u32 round = 0; round < arguments.rounds; round++) {
        __syncthreads();
        Marks marks;
        const u32 result = snippet.run(arguments, round, marks);
        arguments.out[round * gridDim.x * blockDim.x + grid_thread()] = result;
        if ((threadIdx.x & 31) == 0) {
            u64 *const own = arguments.marks + ((round * gridDim.x + blockIdx.x) * warps + threadIdx.x / 32) * 3;
            own[0] = marks.start;
            own[1] = marks.arrival;
            own[2] = marks.stop;
        }
    }
    __syncthreads();
    if (threadIdx.x != 0) return;
    record_steps(steps + 2 * STEPS);
    u32 multiprocessor;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(multiprocessor));
    arguments.multiprocessors[blockIdx.x] = multiprocessor;
}

// A value that is written to shared memory and read after a block barrier: the snippet of the post, with its addresses
// from global memory. (Volatile, so that each round reads them from the L2 cache.)
struct SharedMemory {
    __device__ __forceinline__ explicit SharedMemory(const TimelineArguments &arguments) {
        volatile u32 *const indices = arguments.indices;
        indices[2 * threadIdx.x] = indices[2 * threadIdx.x + 1] = threadIdx.x;
    }

    __device__ __forceinline__ u32 run(const TimelineArguments &arguments, u32 round, Marks &marks) {
        __shared__ float memory[1024];
        const volatile u32 *const indices = arguments.indices;
        const u32 written_at = indices[2 * threadIdx.x], read_at = indices[2 * threadIdx.x + 1];
        marks.start = clock64();
        memory[written_at] = 42.0f;
        __syncthreads();
        const float value = memory[read_at];
        marks.stop = clock64();
        marks.arrival = marks.start;
        return __float_as_uint(value);
    }
};

// Atomic additions on global memory whose result is used: each lane has a variable that it shares with the other warps.
struct GlobalAtomic {
    __device__ __forceinline__ explicit GlobalAtomic(const TimelineArguments &arguments) {
        volatile u32 *const indices = arguments.indices;
        indices[threadIdx.x] = threadIdx.x & 31;
    }

    __device__ __forceinline__ u32 run(const TimelineArguments &arguments, u32 round, Marks &marks) {
        const volatile u32 *const indices = arguments.indices;
        u32 *const variable = arguments.memory + indices[threadIdx.x];
        marks.start = clock64();
        const u32 before = atomicAdd(variable, 1u);
        marks.stop = clock64();
        marks.arrival = marks.start;
        return before;
    }
};

// A block barrier at which the last warp is late. After the barrier, each thread reads what the late warp wrote.
struct LateWarp {
    __device__ __forceinline__ explicit LateWarp(const TimelineArguments &) {}

    __device__ __forceinline__ u32 run(const TimelineArguments &arguments, u32 round, Marks &marks) {
        __shared__ u32 memory[32];
        marks.start = clock64();
        if (threadIdx.x / 32 == blockDim.x / 32 - 1) {
            be_late(arguments.late_cycles);
            memory[threadIdx.x & 31] = round + 1;
        }
        marks.arrival = clock64();
        __syncthreads();
        const u32 value = memory[threadIdx.x & 31];
        marks.stop = clock64();
        return value;
    }
};

// A barrier of the grid: a counter to which each block adds one, and then waits until all have. The last block is late.
// After the barrier, each block reads what the last block wrote.
struct GridBarrier {
    __device__ __forceinline__ explicit GridBarrier(const TimelineArguments &) {}

    __device__ __forceinline__ u32 run(const TimelineArguments &arguments, u32 round, Marks &marks) {
        u32 *const counter = arguments.memory, *const data = arguments.memory + 32;
        const u32 target = (round + 1) * gridDim.x;
        marks.start = clock64();
        if (blockIdx.x == gridDim.x - 1) {
            be_late(arguments.late_cycles);
            data[threadIdx.x] = round + 1;
        }
        marks.arrival = clock64();
        __syncwarp();
        if (threadIdx.x == 0) {
            __threadfence();
            atomicAdd(counter, 1u);
            u32 polls = 0, seen;
            do {
                asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(counter) : "memory");
            } while ((int)(seen - target) < 0 && ++polls < SPIN_POLLS);
        }
        __syncwarp();
        const u32 value = data[threadIdx.x];
        marks.stop = clock64();
        return value;
    }
};

#if __CUDA_ARCH__ >= 800
// The first warp writes a value to shared memory and arrives at a barrier object there; the others wait for it and read
// the value.
struct ProducerConsumer {
    u32 address;

    __device__ __forceinline__ explicit ProducerConsumer(const TimelineArguments &) {
        __shared__ u64 object;
        address = (u32)__cvta_generic_to_shared(&object);
        if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], 32;" ::"r"(address) : "memory");
        __syncthreads();
    }

    __device__ __forceinline__ bool is_over(u32 phase) {
        u32 over;
        asm volatile("{.reg .pred over; mbarrier.test_wait.parity.shared.b64 over, [%1], %2; selp.u32 %0, 1, 0, over;}"
                     : "=r"(over)
                     : "r"(address), "r"(phase)
                     : "memory");
        return over != 0;
    }

    __device__ __forceinline__ u32 run(const TimelineArguments &arguments, u32 round, Marks &marks) {
        __shared__ u32 memory[32];
        u32 value = 0;
        marks.start = clock64();
        if (threadIdx.x < 32) {
            be_late(arguments.late_cycles);
            memory[threadIdx.x] = round + 1;
            marks.arrival = clock64();
            asm volatile("{.reg .b64 state; mbarrier.arrive.shared.b64 state, [%0];}" ::"r"(address) : "memory");
        } else {
            marks.arrival = clock64();
            u32 polls = 0;
            while (!is_over(round & 1) && ++polls < SPIN_POLLS) {
            }
            value = memory[threadIdx.x & 31];
        }
        marks.stop = clock64();
        return value;
    }
};
#endif

#ifdef OWN
// The user's code: the file defines `region` with clock reads of its own between these words. After a barrier of the
// block, a warp waits before its next instruction, unless that is a clock read; `__syncwarp` therefore precedes it.
#define BEGIN_REGION (__syncwarp(), marks.start = clock64())
#define END_REGION (__syncwarp(), marks.stop = clock64())
__device__ u32 region(u32 *memory, u32 round, Marks &marks);

struct Own {
    __device__ __forceinline__ explicit Own(const TimelineArguments &) {}

    __device__ __forceinline__ u32 run(const TimelineArguments &arguments, u32 round, Marks &marks) {
        const u32 result = region(arguments.memory, round, marks);
        marks.arrival = marks.start;
        return result;
    }
};
#endif

#define TIMELINE(NAME, SNIPPET)                                                                  \
    extern "C" __global__ void __launch_bounds__(1024) NAME(const TimelineArguments arguments) { \
        record<SNIPPET>(arguments);                                                              \
    }

#ifdef OWN
TIMELINE(own, Own)
#else
TIMELINE(shared_memory, SharedMemory)
TIMELINE(global_atomic, GlobalAtomic)
TIMELINE(late_warp, LateWarp)
TIMELINE(grid_barrier, GridBarrier)
#if __CUDA_ARCH__ >= 800
TIMELINE(producer_consumer, ProducerConsumer)
#endif
#endif
