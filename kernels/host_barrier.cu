// What each device does between two barriers of the host (gpu.multi.host_barrier): it leaves word of its visit and
// reads that of another device. There is no loop: the host times many launches.
#include "grid_barrier.cuh"

using Arguments = HostBarrierArguments;

// One visit of each device: between two visits the host waits for all of them. A block finds what it wrote on its last
// visit, and what another device's block wrote on the last visit or, if that is faster, on this one.
__device__ __forceinline__ void visit(const Arguments &arguments) {
    if (threadIdx.x != 0) return;
    const u32 round = arguments.phase;
    volatile u32 *const own = roster.tidings[roster.device] + blockIdx.x;
    volatile u32 *const others = roster.tidings[(roster.device + 1) % roster.devices] + blockIdx.x;
    const u32 found = *own, told = *others;
    if (found != round) note_mismatch(round, found);
    if (told != round && told != round + 1) note_mismatch(round, told);
    *own = round + 1;
}

SYNCSCOPE_KERNEL baseline(const Arguments arguments) { visit(arguments); }
SYNCSCOPE_KERNEL test(const Arguments arguments) { visit(arguments); }
SYNCSCOPE_KERNEL check(const Arguments arguments) { visit(arguments); }
