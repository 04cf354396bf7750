// Barriers of all threads of a grid on each of several devices (gpu.multi).
//
// KIND says which.
#include "grid_barrier.cuh"

using Arguments = GridBarrierArguments;

enum Kind { COUNTER, FLAGS };

struct Barrier {
    u32 *place;
    u32 slot;
    u32 epoch;  // barriers passed at this place
    Bound bound;

    __device__ __forceinline__ explicit Barrier(const Arguments &arguments)
        : place(place_of(arguments)),
          slot(arguments.slot),
          epoch((u32)arguments.barriers_passed),
          bound(arguments.abort) {}

    // First the blocks of the device: the one that comes last goes on to the other devices. Its addition acquires what
    // the other blocks released.
    __device__ __forceinline__ void run() {
        epoch++;
        __syncthreads();
        if (threadIdx.x == 0) {
            u32 before;
            asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], 1;" : "=r"(before) : "l"(place) : "memory");
            const bool last = before + 1 == epoch * gridDim.x;
            if constexpr (KIND == COUNTER) counter(last);
            if constexpr (KIND == FLAGS) flags(last);
        }
        __syncthreads();
    }

    // One counter in the memory of the first device. One thread of each device waits there, the others near.
    __device__ __forceinline__ void counter(bool last) {
        u32 *const released = place + 32;
        if (last) {
            u32 *const everyone = &roster.exchanges[0][slot].counter;
            asm volatile("red.release.sys.global.add.u32 [%0], 1;" ::"l"(everyone) : "memory");
            const u32 target = epoch * roster.devices;
            bound.wait_for([&] { return reached(load_acquire_system(everyone), target); });
            store_release_gpu(released, epoch);
        } else {
            bound.wait_for([&] { return reached(load_acquire_gpu(released), epoch); });
        }
    }

    // A flag in the memory of every device, written by each; every block looks at those in its own memory, which is
    // near, so that nobody has to pass the word on. One fence releases all the flags.
    __device__ __forceinline__ void flags(bool last) {
        if (last) {
            asm volatile("fence.acq_rel.sys;" ::: "memory");
#pragma unroll 1
            for (u32 step = 1; step <= roster.devices; step++) {
                const u32 device = (roster.device + step) % roster.devices;
                u32 *const flag = &roster.exchanges[device][slot].flags[roster.device];
                asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(flag), "r"(epoch) : "memory");
            }
        }
        const u32 *const here = roster.exchanges[roster.device][slot].flags;
#pragma unroll 1
        for (u32 first = 0; first < roster.devices; first += 4) {
            bound.wait_for([&] { return all_here(here + first, roster.devices - first); });
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

SYNCSCOPE_MEETINGS(Barrier)
