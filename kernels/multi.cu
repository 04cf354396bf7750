// Barriers of all threads of a grid on each of several devices (gpu.multi).
//
// KIND selects the barrier.
#include "grid_barrier.cuh"

using Arguments = GridBarrierArguments;

enum Kind { COUNTER, FLAGS };

struct Barrier {
    u32 *state;
    u32 slot;
    u32 epoch;  // barriers passed at this memory offset
    WaitLimit limit;

    __device__ __forceinline__ explicit Barrier(const Arguments &arguments)
        : state(state_of(arguments)),
          slot(arguments.slot),
          epoch((u32)arguments.barriers_passed),
          limit(arguments.abort) {}

    // First the blocks of the device: the last block to arrive goes on to the other devices. Its addition acquires what
    // the other blocks released.
    __device__ __forceinline__ void run() {
        epoch++;
        __syncthreads();
        if (threadIdx.x == 0) {
            u32 before;
            asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], 1;" : "=r"(before) : "l"(state) : "memory");
            const bool last = before + 1 == epoch * gridDim.x;
            if constexpr (KIND == COUNTER) counter(last);
            if constexpr (KIND == FLAGS) flags(last);
        }
        __syncthreads();
    }

    // One counter in the memory of the first device. One thread of each device waits for it; the other blocks wait in
    // the memory of their own device.
    __device__ __forceinline__ void counter(bool last) {
        u32 *const released = state + 32;
        if (last) {
            u32 *const everyone = &device_table.exchanges[0][slot].counter;
            asm volatile("red.release.sys.global.add.u32 [%0], 1;" ::"l"(everyone) : "memory");
            const u32 target = epoch * device_table.devices;
            limit.wait_for([&] { return reached(load_acquire_system(everyone), target); });
            store_release_gpu(released, epoch);
        } else {
            limit.wait_for([&] { return reached(load_acquire_gpu(released), epoch); });
        }
    }

    // Flags in the memory of every device, one written by each device. Every block reads the flags in the memory of its
    // own device, so no block must release others. One fence releases all the flags.
    __device__ __forceinline__ void flags(bool last) {
        if (last) {
            asm volatile("fence.acq_rel.sys;" ::: "memory");
#pragma unroll 1
            for (u32 step = 1; step <= device_table.devices; step++) {
                const u32 device = (device_table.device + step) % device_table.devices;
                u32 *const flag = &device_table.exchanges[device][slot].flags[device_table.device];
                asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(flag), "r"(epoch) : "memory");
            }
        }
        const u32 *const here = device_table.exchanges[device_table.device][slot].flags;
#pragma unroll 1
        for (u32 first = 0; first < device_table.devices; first += 4) {
            limit.wait_for([&] { return all_here(here + first, device_table.devices - first); });
        }
    }

    __device__ __forceinline__ bool all_here(const u32 *flags, u32 count) const {
        u32 a, b, c, d;
        asm volatile("ld.acquire.sys.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
                     : "l"(flags)
                     : "memory");
        return reached(a, epoch) && (count < 2 || reached(b, epoch)) && (count < 3 || reached(c, epoch)) &&
               (count < 4 || reached(d, epoch));
    }

    __device__ __forceinline__ static u32 load_acquire_system(const u32 *word) {
        u32 value;
        asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
        return value;
    }
};

SYNCSCOPE_GRID_BARRIERS(Barrier)
