// What each device does between two barriers of the host (gpu.multi.host_barrier): it writes a flag and reads the flag
// of another device. There is no loop: the host times many launches.
#include "grid_barrier.cuh"

using Arguments = HostBarrierArguments;

// One phase: between two phases the host waits for all devices. A block must find what it wrote in the last phase, and
// what a block of another device wrote in the last phase or, if that device is faster, in this one.
__device__ __forceinline__ void run_phase(const Arguments &arguments) {
    if (threadIdx.x != 0) return;
    const u32 phase = arguments.phase;
    volatile u32 *const own = device_table.block_flags[device_table.device] + blockIdx.x;
    volatile u32 *const others =
        device_table.block_flags[(device_table.device + 1) % device_table.devices] + blockIdx.x;
    const u32 found = *own, flag = *others;
    if (found != phase) count_mismatch(phase, found);
    if (flag != phase && flag != phase + 1) count_mismatch(phase, flag);
    *own = phase + 1;
}

SYNCSCOPE_KERNEL syncscope_baseline(const Arguments arguments) { run_phase(arguments); }
SYNCSCOPE_KERNEL syncscope_test(const Arguments arguments) { run_phase(arguments); }
SYNCSCOPE_KERNEL syncscope_check(const Arguments arguments) { run_phase(arguments); }
