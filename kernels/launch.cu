// Kernels whose launches the host times (gpu.launch). KIND selects whether they are empty or last for a known time.
//
// The baseline is a chain of n launches of `baseline`, the test a chain of 2 n launches of `test`. One kernel
// `baseline` lasts as long as two kernels `test`, so both chains do the same work, the test with twice as many kernels.
// The length of the kernels drops out of the difference, and the cost of an additional launch remains. (This is the
// fusion of kernels of Zhang, Wahib, Zhang, Matsuoka, IPDPS 2020.)
//
// With PROGRAMMATIC=1 each kernel lets the next one start while it runs, and does nothing before the previous one has
// ended. Blocks of the next kernel come to the device only when all blocks of this one have begun, so none waits for a
// block that has no room.
//
// With LOOP=CONDITIONAL a chain is one graph whose conditional node runs one kernel again and again; with
// LOOP=SELF_LAUNCHING a graph of one kernel that launches itself when it has ended. The kernel decides whether it does,
// by one thread, as concurrent decisions are undefined. The two functions below are the CUDA device runtime's. The
// compiler knows them as functions of the driver, as it knows `vprintf`, so nothing is linked.
#include "harness.cuh"

using Arguments = LaunchChainArguments;

enum Kind { EMPTY, SPINNING };

#ifndef PROGRAMMATIC
#define PROGRAMMATIC 0
#endif

enum Loop { NONE, CONDITIONAL, SELF_LAUNCHING };
#ifndef LOOP
#define LOOP NONE
#endif

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
    if constexpr (LOOP != NONE) {
        if (blockIdx.x != 0 || threadIdx.x != 0) return;
        const u32 done = *arguments.turn + 1;
        const bool again = done < arguments.turns;
        *arguments.turn = again ? done : 0;
        decide(arguments, again);
    }
}

__device__ __forceinline__ void begin() {
#if PROGRAMMATIC
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// Lasts for PARTS times `arguments.cycles` of the clock of the multiprocessor. Every block waits by its own clock,
// which always advances, so the kernel ends.
template <int PARTS>
__device__ __forceinline__ void last(const Arguments &arguments) {
    if constexpr (KIND == SPINNING) {
        const u64 length = (u64)PARTS * arguments.cycles, start = read_clock();
#pragma unroll 1
        while (read_clock() - start < length) {
        }
    }
}

SYNCSCOPE_KERNEL syncscope_baseline(const Arguments arguments) {
    begin();
    last<2>(arguments);
    end(arguments);
}
SYNCSCOPE_KERNEL syncscope_test(const Arguments arguments) {
    begin();
    last<1>(arguments);
    end(arguments);
}

// One phase, which is one launch: every block reads what another block wrote in the launch before, with plain accesses,
// and writes what the next launch will read. There are two arrays, so that no block overwrites what must still be read.
// Blocks write at different times: without the barrier between launches a reader would be too early.
SYNCSCOPE_KERNEL syncscope_check(const Arguments arguments) {
    begin();
    if (threadIdx.x != 0) return;
    // In a loop, the blocks that have ended say which turn this is: fewer than a grid of them are of this turn.
    volatile u32 *const ended = arguments.turn;
    const u32 phase = LOOP != NONE ? *ended / gridDim.x + 1 : arguments.phase;
    const u32 other = (blockIdx.x + gridDim.x / 2) % gridDim.x;
    u32 *const arrays = arguments.phases;
    const u32 found = load_plain(arrays + (phase + 1) % 2 * gridDim.x + other);
    if (found != phase - 1) report_mismatch(arguments, phase - 1, found);
    delay((blockIdx.x * 7 + phase * 5) % 32);
    store_plain(arrays + phase % 2 * gridDim.x + blockIdx.x, phase);
    if constexpr (LOOP != NONE) {
        const u32 before = atomicAdd(arguments.turn, 1u);
        // The last block decides.
        if (before % gridDim.x == gridDim.x - 1) decide(arguments, phase < arguments.turns);
    }
}
