// Barriers of all threads of a grid (gpu.grid).
//
// KIND says which. ABSENT=1 is a fault for tests: the last block does not come.
#include "grid_barrier.cuh"

using Arguments = GridBarrierArguments;

using u8 = unsigned char;

enum Kind { COOPERATIVE, COUNTER, LOCK_FREE };

#ifndef ABSENT
#define ABSENT 0
#endif

struct Barrier {
    u32 *place;
    u32 epoch;  // barriers passed at this place
    Bound bound;

    __device__ __forceinline__ explicit Barrier(const Arguments &arguments)
        : place(place_of(arguments)), epoch((u32)arguments.barriers_passed), bound(arguments.abort) {}

    __device__ __forceinline__ void run() {
        if (ABSENT && blockIdx.x == gridDim.x - 1) return;
        epoch++;
        if constexpr (KIND == COOPERATIVE) cooperative();
        if constexpr (KIND == COUNTER) counter();
        if constexpr (KIND == LOCK_FREE) lock_free();
    }

    // What `cooperative_groups::grid_group::sync()` is in CUDA 11 to 13 (a test compares the instructions): each block
    // adds one, the first one what is missing to 2^31, so that the highest bit flips when all have come. Thread and
    // block are asked for in all dimensions, as there: the compiler does not see that it is one thread, and adds up a
    // warp. The bound is ours.
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

    // One counter that only grows. The addition has a target that is known beforehand, so that nobody waits for its
    // result: one way to the cache instead of there and back. Release: what the block wrote before (the barrier of the
    // block made it this thread's) is seen by whoever acquires the count. The first look comes late enough to meet the
    // others' additions: one that goes out at once comes back with nothing, and the next one a way there and back
    // later.
    __device__ __forceinline__ void counter() {
        __syncthreads();
        if (threadIdx.x == 0) {
            asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(place) : "memory");
            const u32 target = epoch * gridDim.x;
            pause();
            bound.wait_for([&] { return reached(load_acquire_gpu(place), target); });
        }
        __syncthreads();
    }

    // Cycles. Tried on an H200 from 0 to 600 in steps of 100, with one block per multiprocessor: 1,843, 1,815, 1,812,
    // 1,604, 1,686, 1,785 and 1,886 cycles for the barrier; with two blocks 400 is the best.
    __device__ __forceinline__ static void pause() {
        const u32 start = read_clock_low();
        while (read_clock_low() - start < 350) {
        }
    }

    // The lock-free barrier of Xiao and Feng: every block writes a flag of its own; the threads of the first block wait
    // for them, and when all have come write every block's second flag. No atomic operation, and nobody waits for a
    // turn; but two ways through the cache instead of one. A flag is a byte, the epoch's lowest: one load brings
    // sixteen. (Of words it brought four, and the barrier of 4,224 small blocks took 26,000 cycles on an H200 instead
    // of 11,600.) The loads acquire, the block's barrier joins what its threads acquired, the stores release it.
    __device__ __forceinline__ void lock_free() {
        u8 *const arrived = reinterpret_cast<u8 *>(place + 32);
        u8 *const released = arrived + (gridDim.x + 127) / 128 * 128;
        const u32 flag = epoch & 0xff;
        __syncthreads();
        if (blockIdx.x == 0) {
            gather(arrived, flag * 0x01010101u);
            __syncthreads();
            scatter(released, flag * 0x01010101u);
        } else {
            if (threadIdx.x == 0) {
                asm volatile("st.release.gpu.global.u8 [%0], %1;" ::"l"(arrived + blockIdx.x), "r"(flag) : "memory");
                bound.wait_for([&] { return load_flag(released + blockIdx.x) == flag; });
            }
            __syncthreads();
        }
    }

    __device__ __forceinline__ static u32 load_flag(const u8 *flag) {
        u32 value;
        asm volatile("ld.acquire.gpu.global.u8 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
        return value;
    }

    __device__ __forceinline__ void gather(const u8 *arrived, u32 flags) {
#pragma unroll 1
        for (u32 first = FLAGS * threadIdx.x; first < gridDim.x; first += FLAGS * blockDim.x) {
            bound.wait_for([&] {
                const uint4 found = load_acquire_gpu(reinterpret_cast<const uint4 *>(arrived + first));
                const u32 missing =
                    ((found.x ^ flags) & to_wait_for(first)) | ((found.y ^ flags) & to_wait_for(first + 4)) |
                    ((found.z ^ flags) & to_wait_for(first + 8)) | ((found.w ^ flags) & to_wait_for(first + 12));
                return missing == 0;
            });
        }
    }

    // Flags of a load.
    static constexpr u32 FLAGS = sizeof(uint4);

    // Which of the four flags from this block on are written: not the gathering block's, nor those of blocks that do
    // not exist.
    __device__ __forceinline__ static u32 to_wait_for(u32 block) {
        const u32 there = block < gridDim.x ? min(4u, gridDim.x - block) : 0;
        const u32 mask = there == 4 ? ~0u : (1u << 8 * there) - 1;
        return block == 0 ? mask & ~0xffu : mask;
    }

    // One fence releases all of a thread's stores.
    __device__ __forceinline__ void scatter(u8 *released, u32 flags) {
        if (FLAGS * threadIdx.x >= gridDim.x) return;
        asm volatile("fence.acq_rel.gpu;" ::: "memory");
#pragma unroll 1
        for (u32 first = FLAGS * threadIdx.x; first < gridDim.x; first += FLAGS * blockDim.x) {
            asm volatile("st.relaxed.gpu.global.v4.u32 [%0], {%1, %1, %1, %1};" ::"l"(released + first), "r"(flags)
                         : "memory");
        }
    }
};

SYNCSCOPE_MEETINGS(Barrier)
