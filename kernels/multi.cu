// Barriers of all threads of a grid on each of several devices (gpu.multi).
//
// KIND selects the barrier, ROOMY=1 kernels with more registers, SYNCSCOPE_RELAXED=1 the one that orders no memory
// accesses.
#include "grid_barrier.cuh"
#include "near_counters.cuh"

using Arguments = GridBarrierArguments;

enum Kind { COUNTER, FLAGS, NEAR_FLAGS, DIRECT };

struct Barrier {
    u32 *state;
    NearCounters near_counters;
    u32 slot;
    u32 epoch;              // barriers passed at this memory offset
    const u32 *flags_here;  // those that this block reads
    WaitLimit limit;

    __device__ __forceinline__ explicit Barrier(const Arguments &arguments)
        : state(state_of(arguments)),
          slot(arguments.slot),
          epoch((u32)arguments.barriers_passed),
          flags_here(device_table.exchanges[device_table.device][slot].flags),
          limit(arguments.abort) {
        if constexpr (KIND == NEAR_FLAGS) {
            if (threadIdx.x == 0) {
                near_counters.choose(state, limit);
                choose_copies();
            }
            __syncthreads();
        }
    }

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

    // NEAR_FLAGS: the addition goes to a word that no block has a long way to.
    __device__ __forceinline__ u32 *gathering() const { return KIND == NEAR_FLAGS ? near_counters.central : state; }

    // The blocks of this device that arrived before. The addition of the last block acquires what the other blocks
    // released. With NEAR_FLAGS the fence that follows the addition in the last block acquires it instead.
    __device__ __forceinline__ u32 arrive_here() {
        u32 before;
        if constexpr (!ORDERS<1>) {
            asm volatile("atom.relaxed.gpu.global.add.u32 %0, [%1], 1;" : "=r"(before) : "l"(gathering()) : "memory");
        } else if constexpr (KIND == NEAR_FLAGS) {
            asm volatile("atom.release.gpu.global.add.u32 %0, [%1], 1;" : "=r"(before) : "l"(gathering()) : "memory");
        } else {
            asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], 1;" : "=r"(before) : "l"(gathering()) : "memory");
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
            if constexpr (ORDERS<2>) {
                asm volatile("red.release.sys.global.add.u32 [%0], 1;" ::"l"(everyone) : "memory");
            } else {
                add_one_relaxed_system(everyone);
            }
            limit.wait_for([&] {
                const u32 count = ORDERS<3> ? load_acquire_system(everyone) : load_relaxed_system(everyone);
                return reached(count, target);
            });
            if constexpr (ORDERS<4>) {
                store_release_gpu(released, epoch);
            } else {
                asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(released), "r"(epoch) : "memory");
            }
        } else {
            limit.wait_for([&] {
                const u32 count = ORDERS<5> ? load_acquire_gpu(released) : load_relaxed_gpu(released);
                return reached(count, epoch);
            });
        }
    }

    // Flags in the memory of every device, one written by each device. Every block reads the flags in the memory of its
    // own device, so no block must release others. One fence releases all the flags.
    //
    // With NEAR_FLAGS the polls are relaxed and one fence acquires at the end. In the memory model of PTX: a block's
    // addition releases to the device. The last block reads it and then executes its fence for the system, which
    // acquires the additions and releases its flags. A relaxed read of a flag and a fence after it acquire.
    __device__ __forceinline__ void flags(bool last) {
        if (last) {
            if constexpr (ORDERS<2>) asm volatile("fence.acq_rel.sys;" ::: "memory");
#pragma unroll 1
            for (u32 step = 1; step <= device_table.devices; step++) {
                const u32 device = (device_table.device + step) % device_table.devices;
                Exchange *const there = &device_table.exchanges[device][slot];
                write_flag(there->flags + device_table.device);
                if constexpr (KIND == NEAR_FLAGS) write_flag(copies()[device]->flags + device_table.device);
            }
        } else if (KIND == NEAR_FLAGS && device_table.devices > 1) {
            // As long as the other device's flag takes at least: until then, reads delay the additions. (Two H200:
            // 2,157 ns without this pause, 2,093 with 1,000 cycles.)
            pause_cycles(near_counters.round_trips * 5 / 4);
        }
#pragma unroll 1
        for (u32 first = 0; first < device_table.devices; first += 4) {
            limit.wait_for([&] { return all_here(flags_here + first, device_table.devices - first); });
        }
        if constexpr (ORDERS<3> && KIND == NEAR_FLAGS) fence_acquire_system();
    }

    __device__ __forceinline__ void write_flag(u32 *flag) const {
        asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(flag), "r"(epoch) : "memory");
    }

    // NEAR_FLAGS: flags in both halves of the second-level cache of each device. A block reads those of its own half: a
    // word that was just written has the long way to the other half. The first block of each device chooses the copy
    // whose latency differs the most from that of the first one, once for each memory offset, and all devices read the
    // choice from the exchange, where it stays.
    __device__ __forceinline__ void choose_copies() {
        Exchange *const here = &device_table.exchanges[device_table.device][slot];
        if (blockIdx.x == 0 && load_relaxed_system(&here->chosen_copy) == 0) {
            const u32 first = atomic_latency(&here->probe);
            u32 best = 1, most = 0;
#pragma unroll 1
            for (u32 copy = 1; copy < EXCHANGE_COPIES; copy++) {
                const u32 latency = atomic_latency(&here[copy * device_table.copy_distance].probe);
                const u32 difference = latency > first ? latency - first : first - latency;
                if (difference > most) most = difference, best = copy;
            }
            asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(&here->chosen_copy), "r"(best) : "memory");
        }
#pragma unroll 1
        for (u32 device = 0; device < device_table.devices; device++) {
            Exchange *const exchange = &device_table.exchanges[device][slot];
            u32 chosen = 0;
            limit.wait_for([&] { return (chosen = load_acquire_system(&exchange->chosen_copy)) != 0; });
            copies()[device] = exchange + chosen * device_table.copy_distance;
        }
        Exchange *const copy = copies()[device_table.device];
        if (atomic_latency(&copy->probe) < atomic_latency(&here->probe)) flags_here = copy->flags;
    }

    // The chosen copies of all devices, known to the first thread of the block.
    __device__ __forceinline__ static Exchange **copies() {
        __shared__ Exchange *chosen[MOST_DEVICES];
        return chosen;
    }

    // One way instead of two: every block adds to a counter in the memory of each device, its own last, and waits for
    // the counter of its own device. All blocks execute their fences for the system at the same time. In the memory
    // model of PTX: the fence and an addition after it release, a relaxed read of the counter and the fence after it
    // acquire; both have the scope of the system, so no block must pass on what another one released.
    __device__ __forceinline__ void direct() {
        if constexpr (ORDERS<1>) fence_release_system();
#pragma unroll 1
        for (u32 step = 1; step <= device_table.devices; step++) {
            const u32 device = (device_table.device + step) % device_table.devices;
            add_one_relaxed_system(&device_table.exchanges[device][slot].counter);
        }
        const u32 *const here = &device_table.exchanges[device_table.device][slot].counter;
        const u32 target = epoch * device_table.devices * gridDim.x;
        limit.wait_for([&] { return reached(load_relaxed_system(here), target); });
        if constexpr (ORDERS<2>) fence_acquire_system();
    }

    __device__ __forceinline__ bool all_here(const u32 *flags, u32 count) const {
        u32 a, b, c, d;
        if constexpr (ORDERS<3> && KIND == FLAGS) {
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

#if ROOMY
SYNCSCOPE_GRID_BARRIERS_AS(SYNCSCOPE_ROOMY_KERNEL, Barrier)
#else
SYNCSCOPE_GRID_BARRIERS(Barrier)
#endif
