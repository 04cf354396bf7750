// Barriers of all threads of a grid on each of several devices (gpu.multi).
//
// KIND selects the barrier, RELAXED=1 the one that orders no memory accesses.
#include "grid_barrier.cuh"

using Arguments = GridBarrierArguments;

enum Kind { COUNTER, FLAGS, ACQUIRE_FENCE, DIRECT };

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

    // First the blocks of the device: the last block to arrive goes on to the other devices.
    __device__ __forceinline__ void run() {
        epoch++;
        __syncthreads();
        if (threadIdx.x == 0) {
            if constexpr (KIND == DIRECT) {
                direct();
            } else {
                const bool last = arrive_here() + 1 == epoch * gridDim.x;
                if constexpr (KIND == COUNTER) {
                    counter(last);
                } else {
                    flags(last);
                }
            }
        }
        __syncthreads();
    }

    // The blocks of this device that arrived before. The addition of the last block acquires what the other blocks
    // released. With ACQUIRE_FENCE the fence that follows the addition in the last block acquires it instead.
    __device__ __forceinline__ u32 arrive_here() {
        u32 before;
        if constexpr (!IS_ORDERED) {
            asm volatile("atom.relaxed.gpu.global.add.u32 %0, [%1], 1;" : "=r"(before) : "l"(state) : "memory");
        } else if constexpr (KIND == ACQUIRE_FENCE) {
            asm volatile("atom.release.gpu.global.add.u32 %0, [%1], 1;" : "=r"(before) : "l"(state) : "memory");
        } else {
            asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], 1;" : "=r"(before) : "l"(state) : "memory");
        }
        return before;
    }

    // One counter in the memory of the first device. One thread of each device waits for it; the other blocks wait in
    // the memory of their own device.
    __device__ __forceinline__ void counter(bool last) {
        u32 *const released = state + 32;
        if (last) {
            u32 *const everyone = &device_table.exchanges[0][slot].counter;
            const u32 target = epoch * device_table.devices;
            if constexpr (IS_ORDERED) {
                asm volatile("red.release.sys.global.add.u32 [%0], 1;" ::"l"(everyone) : "memory");
                limit.wait_for([&] { return reached(load_acquire_system(everyone), target); });
                store_release_gpu(released, epoch);
            } else {
                add_one_relaxed_system(everyone);
                limit.wait_for([&] { return reached(load_relaxed_system(everyone), target); });
                asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(released), "r"(epoch) : "memory");
            }
        } else if constexpr (IS_ORDERED) {
            limit.wait_for([&] { return reached(load_acquire_gpu(released), epoch); });
        } else {
            limit.wait_for([&] { return reached(load_relaxed_gpu(released), epoch); });
        }
    }

    // Flags in the memory of every device, one written by each device. Every block reads the flags in the memory of its
    // own device, so no block must release others. One fence releases all the flags.
    //
    // With ACQUIRE_FENCE the polls are relaxed and one fence acquires at the end. In the memory model of PTX: a block's
    // addition releases to the device. The last block reads it and then executes its fence for the system, which
    // acquires the additions and releases its flags. A relaxed read of a flag and a fence after it acquire.
    __device__ __forceinline__ void flags(bool last) {
        if (last) {
            if constexpr (IS_ORDERED) asm volatile("fence.acq_rel.sys;" ::: "memory");
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
        if constexpr (IS_ORDERED && KIND == ACQUIRE_FENCE) fence_acquire_system();
    }

    // One way instead of two: every block adds to a counter in the memory of each device, its own last, and waits for
    // the counter of its own device. All blocks execute their fences for the system at the same time. In the memory
    // model of PTX: the fence and an addition after it release, a relaxed read of the counter and the fence after it
    // acquire; both have the scope of the system, so no block must pass on what another one released.
    __device__ __forceinline__ void direct() {
        if constexpr (IS_ORDERED) fence_release_system();
#pragma unroll 1
        for (u32 step = 1; step <= device_table.devices; step++) {
            const u32 device = (device_table.device + step) % device_table.devices;
            add_one_relaxed_system(&device_table.exchanges[device][slot].counter);
        }
        const u32 *const here = &device_table.exchanges[device_table.device][slot].counter;
        const u32 target = epoch * device_table.devices * gridDim.x;
        limit.wait_for([&] { return reached(load_relaxed_system(here), target); });
        if constexpr (IS_ORDERED) fence_acquire_system();
    }

    __device__ __forceinline__ bool all_here(const u32 *flags, u32 count) const {
        u32 a, b, c, d;
        if constexpr (IS_ORDERED && KIND == FLAGS) {
            asm volatile("ld.acquire.sys.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                         : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
                         : "l"(flags)
                         : "memory");
        } else {
            asm volatile("ld.relaxed.sys.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                         : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
                         : "l"(flags)
                         : "memory");
        }
        return reached(a, epoch) && (count < 2 || reached(b, epoch)) && (count < 3 || reached(c, epoch)) &&
               (count < 4 || reached(d, epoch));
    }

    __device__ __forceinline__ static void add_one_relaxed_system(u32 *word) {
        asm volatile("red.relaxed.sys.global.add.u32 [%0], 1;" ::"l"(word) : "memory");
    }

    __device__ __forceinline__ static u32 load_acquire_system(const u32 *word) {
        u32 value;
        asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
        return value;
    }
};

SYNCSCOPE_GRID_BARRIERS(Barrier)
