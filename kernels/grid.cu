// Barriers of all threads of a grid (gpu.grid).
//
// KIND says which. ABSENT=1 is a fault for tests: the last block does not come.
#include "meeting.cuh"

enum Kind { COOPERATIVE, COUNTER, LOCK_FREE };

#ifndef ABSENT
#define ABSENT 0
#endif

struct Barrier {
    u32 *place;
    u32 epoch;  // barriers passed at this place
    Bound bound;

    __device__ __forceinline__ explicit Barrier(const Arguments &arguments)
        : place(place_of(arguments)), epoch((u32)arguments.total_operations), bound(arguments.abort) {}

    __device__ __forceinline__ void run() {
        if (ABSENT && blockIdx.x == gridDim.x - 1) return;
        epoch++;
        if constexpr (KIND == COOPERATIVE) cooperative();
        if constexpr (KIND == COUNTER) counter();
        if constexpr (KIND == LOCK_FREE) lock_free();
    }

    // What `cooperative_groups::grid_group::sync()` is in CUDA 11 to 13 (a test compares the instructions): each block adds
    // one, the first one what is missing to 2^31, so that the highest bit flips when all have come. Thread and block are
    // asked for in all dimensions, as there: the compiler does not see that it is one thread, and adds up a warp. The bound
    // is ours.
    __device__ __forceinline__ void cooperative() {
        __barrier_sync(0);
        if (threadIdx.x + threadIdx.y + threadIdx.z == 0) {
            const u32 blocks = gridDim.x * gridDim.y * gridDim.z;
            const u32 addend = blockIdx.x + blockIdx.y + blockIdx.z == 0 ? 0x80000000u - (blocks - 1) : 1;
            u32 old;
            asm volatile("atom.add.release.gpu.u32 %0,[%1],%2;" : "=r"(old) : "l"(place), "r"(addend) : "memory");
            bound.wait_for([&] {
                u32 now;
                asm volatile("ld.acquire.gpu.u32 %0,[%1];" : "=r"(now) : "l"(place) : "memory");
                return ((old ^ now) & 0x80000000u) != 0;
            });
        }
        __barrier_sync(0);
    }

    // One counter that only grows. The addition has a target that is known beforehand, so that nobody waits for its result:
    // one way to the cache instead of there and back. Release: what the block wrote before (the barrier of the block
    // made it this thread's) is seen by whoever acquires the count.
    __device__ __forceinline__ void counter() {
        __syncthreads();
        if (threadIdx.x == 0) {
            asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(place) : "memory");
            const u32 target = epoch * gridDim.x;
            bound.wait_for([&] { return reached(load_acquire_gpu(place), target); });
        }
        __syncthreads();
    }

    // The lock-free barrier of Xiao and Feng: every block writes a flag of its own; the threads of the first block wait
    // for them, four to a load, and when all have come write every block's second flag. No atomic operation, and nobody
    // waits for a turn; two ways through the cache instead of one.
    // The loads acquire, the block's barrier joins what its threads acquired, the stores release it.
    __device__ __forceinline__ void lock_free() {
        u32 *const arrived = place + 32, *const released = arrived + (gridDim.x + 31) / 32 * 32;
        __syncthreads();
        if (blockIdx.x == 0) {
            if (threadIdx.x == 0) store_release_gpu(arrived, epoch);
            gather(reinterpret_cast<const uint4 *>(arrived));
            __syncthreads();
            scatter(reinterpret_cast<uint4 *>(released));
        } else {
            if (threadIdx.x == 0) {
                store_release_gpu(arrived + blockIdx.x, epoch);
                bound.wait_for([&] { return reached(load_acquire_gpu(released + blockIdx.x), epoch); });
            }
            __syncthreads();
        }
    }

    // Flags of blocks that do not exist are never written.
    __device__ __forceinline__ bool here(uint4 flags, u32 first) const {
        return reached(flags.x, epoch) && (first + 1 >= gridDim.x || reached(flags.y, epoch)) &&
               (first + 2 >= gridDim.x || reached(flags.z, epoch)) && (first + 3 >= gridDim.x || reached(flags.w, epoch));
    }

    __device__ __forceinline__ void gather(const uint4 *arrived) {
#pragma unroll 1
        for (u32 first = 4 * threadIdx.x; first < gridDim.x; first += 4 * blockDim.x) {
            bound.wait_for([&] { return here(load_acquire_gpu(arrived + first / 4), first); });
        }
    }

    // One fence releases all of a thread's stores.
    __device__ __forceinline__ void scatter(uint4 *released) {
        if (4 * threadIdx.x >= gridDim.x) return;
        asm volatile("fence.acq_rel.gpu;" ::: "memory");
#pragma unroll 1
        for (u32 first = 4 * threadIdx.x; first < gridDim.x; first += 4 * blockDim.x) {
            asm volatile("st.relaxed.gpu.global.v4.u32 [%0], {%1, %1, %1, %1};" ::"l"(released + first / 4), "r"(epoch) : "memory");
        }
    }
};

SYNCSCOPE_MEETINGS(Barrier)
