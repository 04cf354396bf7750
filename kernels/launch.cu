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
#include "harness.cuh"

using Arguments = LaunchChainArguments;

enum Kind { EMPTY, SPINNING };

#ifndef PROGRAMMATIC
#define PROGRAMMATIC 0
#endif

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

SYNCSCOPE_KERNEL baseline(const Arguments arguments) {
    begin();
    last<2>(arguments);
}
SYNCSCOPE_KERNEL test(const Arguments arguments) {
    begin();
    last<1>(arguments);
}

// One phase, which is one launch: every block reads what another block wrote in the launch before, with plain accesses,
// and writes what the next launch will read. There are two arrays, so that no block overwrites what must still be read.
// Blocks write at different times: without the barrier between launches a reader would be too early.
SYNCSCOPE_KERNEL check(const Arguments arguments) {
    begin();
    if (threadIdx.x != 0) return;
    const u32 phase = arguments.phase, other = (blockIdx.x + gridDim.x / 2) % gridDim.x;
    volatile u32 *const arrays = arguments.phases;
    const u32 found = arrays[(phase + 1) % 2 * gridDim.x + other];
    if (found != phase - 1) report_mismatch(arguments, phase - 1, found);
    delay((blockIdx.x * 7 + phase * 5) % 32);
    arrays[phase % 2 * gridDim.x + blockIdx.x] = phase;
}
