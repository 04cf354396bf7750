// Barriers of all threads of a grid, in three kinds. With SYNCSCOPE_RELAXED=1 the last two order no memory accesses,
// with SYNCSCOPE_WEAKENED they lack one ordering.
#pragma once
#include "grid_barrier.cuh"

namespace syncscope {

using u8 = unsigned char;

enum Kind { COOPERATIVE, COUNTER, LOCK_FREE };

// With IS_ABSENT, which is a fault for tests, the last block does not arrive.
template <Kind WHICH, bool IS_ABSENT = false>
struct BarrierOf {
    u32 *state;
    u32 epoch;  // barriers passed at this memory offset
    WaitLimit limit;

    __device__ __forceinline__ explicit BarrierOf(const GridBarrierArguments &arguments)
        : state(state_of(arguments)), epoch((u32)arguments.barriers_passed), limit(arguments.abort) {}

    __device__ __forceinline__ void run() {
        if (IS_ABSENT && blockIdx.x == gridDim.x - 1) return;
        epoch++;
        if constexpr (WHICH == COOPERATIVE) cooperative();
        if constexpr (WHICH == COUNTER) counter();
        if constexpr (WHICH == LOCK_FREE) lock_free();
    }

    // The instructions of `cooperative_groups::grid_group::sync()` in CUDA 11 to 13 (a test compares them). Each block
    // adds one; the first block adds what is missing to 2^31, so that the highest bit flips when all have arrived.
    // Thread and block are tested in all dimensions, as in CUDA: the compiler does not see that only one thread is
    // left, and adds up a warp. Only the time limit is not in CUDA.
    __device__ __forceinline__ void cooperative() {
        __barrier_sync(0);
        if (threadIdx.x + threadIdx.y + threadIdx.z == 0) {
            const u32 blocks = gridDim.x * gridDim.y * gridDim.z;
            const u32 addend = blockIdx.x + blockIdx.y + blockIdx.z == 0 ? 0x80000000u - (blocks - 1) : 1;
            u32 old;
            asm volatile("atom.add.release.gpu.u32 %0,[%1],%2;" : "=r"(old) : "l"(state), "r"(addend) : "memory");
            limit.wait_for([&] {
                u32 now;
                asm volatile("ld.acquire.gpu.u32 %0,[%1];" : "=r"(now) : "l"(state) : "memory");
                return ((old ^ now) & 0x80000000u) != 0;
            });
        }
        __barrier_sync(0);
    }

    // One counter that only grows. The target is known beforehand, so no thread needs the result of its addition: one
    // way to the cache instead of a round trip. Release: a thread that acquires the count sees what the block wrote
    // before (the barrier of the block made those writes visible to this thread). The first read is delayed until the
    // additions of the others arrive: a read at once would return too early, and the next read returns a round trip
    // later.
    __device__ __forceinline__ void counter() {
        __syncthreads();
        if (threadIdx.x == 0) {
            const u32 target = epoch * gridDim.x;
            if constexpr (ORDERS<1>) {
                add_one_release_gpu(state);
            } else {
                add_one_relaxed_gpu(state);
            }
            if constexpr (IS_ORDERED) pause();
            limit.wait_for([&] {
                const u32 count = ORDERS<2> ? load_acquire_gpu(state) : load_relaxed_gpu(state);
                return reached(count, target);
            });
        }
        __syncthreads();
    }

    // In cycles. Measured on an H200 for delays from 0 to 600 in steps of 100, with one block on each multiprocessor:
    // the barrier takes 1,843, 1,815, 1,812, 1,604, 1,686, 1,785 and 1,886 cycles. With two blocks 400 is the best. A
    // relaxed barrier has no pause.
    __device__ __forceinline__ static void pause() {
        const u32 start = read_clock_low();
        while (read_clock_low() - start < 350) {
        }
    }

    // The lock-free barrier of Xiao and Feng. Every block writes a flag of its own. The threads of the first block wait
    // for all flags and then write the second flag of every block. There is no atomic operation and no operation waits
    // for its turn, but there are two ways through the cache instead of one. A flag is the lowest byte of the epoch, so
    // one load reads sixteen flags. (With flags of four bytes the barrier of 4,224 small blocks took 26,000 cycles on
    // an H200 instead of 11,600.) The loads acquire, the barrier of the block combines what its threads acquired, and
    // the stores release it.
    __device__ __forceinline__ void lock_free() {
        u8 *const arrived = reinterpret_cast<u8 *>(state + 32);
        u8 *const released = arrived + (gridDim.x + 127) / 128 * 128;
        const u32 flag = epoch & 0xff;
        __syncthreads();
        if (blockIdx.x == 0) {
            gather(arrived, flag * 0x01010101u);
            __syncthreads();
            scatter(released, flag * 0x01010101u);
        } else {
            if (threadIdx.x == 0) {
                store_flag(arrived + blockIdx.x, flag);
                limit.wait_for([&] { return load_flag(released + blockIdx.x) == flag; });
            }
            __syncthreads();
        }
    }

    __device__ __forceinline__ static void store_flag(u8 *flag, u32 value) {
        if constexpr (ORDERS<1>) {
            asm volatile("st.release.gpu.global.u8 [%0], %1;" ::"l"(flag), "r"(value) : "memory");
        } else {
            asm volatile("st.relaxed.gpu.global.u8 [%0], %1;" ::"l"(flag), "r"(value) : "memory");
        }
    }

    __device__ __forceinline__ static u32 load_flag(const u8 *flag) {
        u32 value;
        if constexpr (ORDERS<4>) {
            asm volatile("ld.acquire.gpu.global.u8 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
        } else {
            asm volatile("ld.relaxed.gpu.global.u8 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
        }
        return value;
    }

    __device__ __forceinline__ static uint4 load_flags(const u8 *flags) {
        const uint4 *const words = reinterpret_cast<const uint4 *>(flags);
        return ORDERS<2> ? load_acquire_gpu(words) : load_relaxed_gpu(words);
    }

    __device__ __forceinline__ void gather(const u8 *arrived, u32 flags) {
#pragma unroll 1
        for (u32 first = FLAGS * threadIdx.x; first < gridDim.x; first += FLAGS * blockDim.x) {
            limit.wait_for([&] {
                const uint4 found = load_flags(arrived + first);
                const u32 missing =
                    ((found.x ^ flags) & to_wait_for(first)) | ((found.y ^ flags) & to_wait_for(first + 4)) |
                    ((found.z ^ flags) & to_wait_for(first + 8)) | ((found.w ^ flags) & to_wait_for(first + 12));
                return missing == 0;
            });
        }
    }

    // Flags that one load reads.
    static constexpr u32 FLAGS = sizeof(uint4);

    // A mask of the four flags from this block on that will be written: not the flag of the gathering block, and not
    // those of blocks that do not exist.
    __device__ __forceinline__ static u32 to_wait_for(u32 block) {
        const u32 there = block < gridDim.x ? min(4u, gridDim.x - block) : 0;
        const u32 mask = there == 4 ? ~0u : (1u << 8 * there) - 1;
        return block == 0 ? mask & ~0xffu : mask;
    }

    // One fence releases all stores of a thread.
    __device__ __forceinline__ void scatter(u8 *released, u32 flags) {
        if (FLAGS * threadIdx.x >= gridDim.x) return;
        if constexpr (ORDERS<3>) asm volatile("fence.acq_rel.gpu;" ::: "memory");
#pragma unroll 1
        for (u32 first = FLAGS * threadIdx.x; first < gridDim.x; first += FLAGS * blockDim.x) {
            asm volatile("st.relaxed.gpu.global.v4.u32 [%0], {%1, %1, %1, %1};" ::"l"(released + first), "r"(flags)
                         : "memory");
        }
    }
};

}  // namespace syncscope
