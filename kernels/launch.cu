// Kernels whose launches the host times (gpu.launch). KIND selects whether they are empty, last for a known time, do so
// after one line of memory from another block, or sweep their share of an array: each block reads what its neighbour
// wrote in the kernel before and writes its own part of the other array.
//
// The baseline is a chain of n launches whose kernels do two parts of work each, the test a chain of 2 n launches with
// one part. So both chains do the same work, the test with twice as many kernels. The length of the kernels drops out
// of the difference, and the cost of an additional launch remains. Both run the same code: kernels of different code
// had other boundaries in two programs on an H200, and the difference would have that twice. (This is the fusion of
// kernels of Zhang, Wahib, Zhang, Matsuoka, IPDPS 2020.) A kernel that starts early slows the work of others down. So
// that this counts, too, the baseline and half of the test have plain launches where the primitive has others.
//
// With WAITS=1 a kernel does nothing before the one before has ended (`cudaGridDependencySynchronize`). TRIGGER says
// where it lets the next one start (`cudaTriggerProgrammaticLaunchCompletion`): at its start, at its end, or nowhere,
// which is when its blocks have ended. Blocks of the next kernel come to the device only when all blocks of this one
// have begun, so none waits for a block that has no room.
//
// With LOOP=CONDITIONAL a chain is one graph whose conditional node runs one kernel again and again; with
// LOOP=SELF_LAUNCHING a graph of one kernel that launches itself when it has ended. With LOOP=WITHIN it is one kernel
// with a barrier of the grid between its parts. The kernel of a graph decides whether it runs again, by one thread, as
// concurrent decisions are undefined. The two functions below are the CUDA device runtime's. The
// compiler knows them as functions of the driver, as it knows `vprintf`, so nothing is linked.
#include "harness.cuh"

using Arguments = LaunchChainArguments;

enum Kind { EMPTY, SPINNING, LINE, SWEEP };

enum Trigger { NEVER, AT_START, AT_END };
#ifndef TRIGGER
#define TRIGGER NEVER
#endif
#ifndef WAITS
#define WAITS 0
#endif

enum Loop { NONE, CONDITIONAL, SELF_LAUNCHING, WITHIN };
#ifndef LOOP
#define LOOP NONE
#endif
constexpr bool IS_GRAPH = LOOP == CONDITIONAL || LOOP == SELF_LAUNCHING;

extern "C" __device__ void cudaGraphSetConditional(u64 handle, u32 value);
extern "C" __device__ int cudaGraphLaunch(u64 graph, u64 stream);

// The graph runs once more after this kernel, or not. A kernel has one of both calls: a conditional node whose kernel
// can also launch graphs did not end on an H200.
__device__ __forceinline__ void decide(const Arguments &arguments, const bool again) {
    if constexpr (LOOP == CONDITIONAL) {
        cudaGraphSetConditional(arguments.condition, again);
    } else if (again) {
        // `cudaStreamGraphTailLaunch`: after this graph has ended.
        constexpr u64 TAIL = 0x0100000000000000;
        u64 graph;
        asm("mov.u64 %0, %%current_graph_exec;" : "=l"(graph));
        cudaGraphLaunch(graph, TAIL);
    }
}

// The end of a timed kernel: the first thread counts and decides. No other thread reads the count, and kernels of a
// loop follow each other. The last one leaves 0 for the next chain.
__device__ __forceinline__ void end(const Arguments &arguments) {
    if constexpr (IS_GRAPH) {
        if (blockIdx.x != 0 || threadIdx.x != 0) return;
        const u32 done = *arguments.turn + 1;
        const bool again = done < arguments.turns;
        *arguments.turn = again ? done : 0;
        decide(arguments, again);
    }
}

__device__ __forceinline__ void trigger() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }

__device__ __forceinline__ void begin() {
    if constexpr (TRIGGER == AT_START) trigger();
    if constexpr (WAITS) asm volatile("griddepcontrol.wait;" ::: "memory");
}

// Lasts for so many cycles of the clock of the multiprocessor. Every block waits by its own clock, which always
// advances, so the kernel ends.
__device__ __forceinline__ void spin(const u64 length) {
    const u64 start = read_clock();
#pragma unroll 1
    while (read_clock() - start < length) {
    }
}

// One sweep of a block over its part of the arrays, as a stencil without its arithmetic. Four loads of a thread are on
// their way at once. They pass the first-level cache by: a kernel that sweeps again would find there what others have
// overwritten since.
__device__ __forceinline__ void sweep(const u32 *const from, u32 *const to, const u32 words) {
    constexpr u32 AT_ONCE = 4;
    const u32 *const in = from + (blockIdx.x + 1) % gridDim.x * words;
    u32 *const out = to + blockIdx.x * words;
#pragma unroll 1
    for (u32 first = threadIdx.x; first < words; first += AT_ONCE * blockDim.x) {
        u32 found[AT_ONCE];
#pragma unroll
        for (u32 step = 0; step < AT_ONCE; step++) {
            const u32 word = first + step * blockDim.x;
            if (word < words) found[step] = __ldcg(in + word);
        }
#pragma unroll
        for (u32 step = 0; step < AT_ONCE; step++) {
            const u32 word = first + step * blockDim.x;
            if (word < words) out[word] = found[step] + 1;
        }
    }
}

// A block that waits so long goes on, so the kernel ends: two seconds.
constexpr u64 MOST_CYCLES = 1ull << 32;

// `cooperative_groups::grid_group::sync()`.
__device__ __forceinline__ void grid_sync(u32 *const state) {
    __syncthreads();
    if (threadIdx.x == 0) {
        const u32 addend = blockIdx.x == 0 ? 0x80000000u - (gridDim.x - 1) : 1;
        const u64 start = read_clock();
        u32 old, now;
        asm volatile("atom.add.release.gpu.u32 %0,[%1],%2;" : "=r"(old) : "l"(state), "r"(addend) : "memory");
        do {
            asm volatile("ld.acquire.gpu.u32 %0,[%1];" : "=r"(now) : "l"(state) : "memory");
        } while (((old ^ now) & 0x80000000u) == 0 && read_clock() - start < MOST_CYCLES);
    }
    __syncthreads();
}

// The parts of the work of a kernel. Each kernel or part reads what the one before has written.
__device__ __forceinline__ void work(const Arguments &arguments, const u32 phase) {
    if constexpr (KIND == EMPTY) return;
    if constexpr (KIND == SPINNING) {
        // Each part ends where its last warp reads the clock, somewhat late, as two kernels end twice.
#pragma unroll 1
        for (u32 part = 0; part < arguments.parts; part++) spin(arguments.cycles);
        return;
    }
    const u32 words = arguments.words;
    u32 *from = arguments.arrays + phase % 2 * gridDim.x * words;
    u32 *to = arguments.arrays + (phase + 1) % 2 * gridDim.x * words;
    for (u32 turn = arguments.parts * arguments.sweeps; turn != 0; turn--) {
        sweep(from, to, words);
        u32 *const swept = to;
        to = from, from = swept;
        if constexpr (KIND == LINE) spin(arguments.cycles);
    }
}

__device__ __forceinline__ void kernel(const Arguments &arguments) {
    begin();
    work(arguments, arguments.phase);
    if constexpr (LOOP == WITHIN) {
#pragma unroll 1
        for (u32 turn = 1; turn < arguments.turns; turn++) {
            grid_sync(arguments.turn);
            work(arguments, arguments.phase + turn);
        }
    }
    end(arguments);
    if constexpr (TRIGGER == AT_END) trigger();
}

// Programs have both names; the host launches the second.
SYNCSCOPE_KERNEL syncscope_baseline(const Arguments arguments) { kernel(arguments); }
SYNCSCOPE_KERNEL syncscope_test(const Arguments arguments) { kernel(arguments); }

// One phase: every block reads what another block wrote in the phase before, with plain accesses, and writes what the
// next one will read. There are two arrays, so that no block overwrites what must still be read. Blocks write at
// different times: without the barrier between phases a reader would be too early.
__device__ __forceinline__ void check_phase(const Arguments &arguments, const u32 phase) {
    const u32 other = (blockIdx.x + gridDim.x / 2) % gridDim.x;
    u32 *const arrays = arguments.phases;
    const u32 found = load_plain(arrays + (phase + 1) % 2 * gridDim.x + other);
    if (found != phase - 1) report_mismatch(arguments, phase - 1, found);
    delay((blockIdx.x * 7 + phase * 5) % 32);
    store_plain(arrays + phase % 2 * gridDim.x + blockIdx.x, phase);
}

// A launch is one phase, or all of them where the barrier is within the kernel.
SYNCSCOPE_KERNEL syncscope_check(const Arguments arguments) {
    begin();
    if (LOOP == WITHIN) {
        for (u32 turn = 0; turn < arguments.turns; turn++) {
            if (threadIdx.x == 0) check_phase(arguments, arguments.phase + turn);
            grid_sync(arguments.turn);
        }
        return;
    }
    if (threadIdx.x == 0) {
        // In a loop of a graph, the blocks that have ended say which turn this is: fewer than a grid of them are of it.
        volatile u32 *const ended = arguments.turn;
        const u32 phase = IS_GRAPH ? *ended / gridDim.x + 1 : arguments.phase;
        check_phase(arguments, phase);
        if constexpr (IS_GRAPH) {
            const u32 before = atomicAdd(arguments.turn, 1u);
            // The last block decides.
            if (before % gridDim.x == gridDim.x - 1) decide(arguments, phase < arguments.turns);
        }
    }
    if constexpr (TRIGGER == AT_END) trigger();
}
