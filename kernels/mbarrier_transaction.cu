// A barrier object that also counts the bytes of an asynchronous copy (gpu.block.mbarrier_transaction): all threads of
// a block arrive, the first one announces a bulk copy into shared memory and starts it, and the phase ends when all
// have arrived and the bytes are there. Compute capability 9.0 or later.
#include "mbarrier.cuh"

using Arguments = RegisterArguments;

constexpr u32 BYTES = 16;  // the smallest bulk copy

__shared__ u64 object;
__shared__ __align__(16) u32 copied[BYTES / sizeof(u32)];

struct Operation {
    u32 address;  // of the object
    u32 to;
    const void *from;
    u32 parity = 0;  // of the phase that ends next
    u32 tests = 0;

    // No thread begins before the object is there: the harness has a barrier after this. The fence shows it to the
    // copy.
    __device__ __forceinline__ explicit Operation(const Arguments &arguments)
        : address((u32)__cvta_generic_to_shared(&object)),
          to((u32)__cvta_generic_to_shared(copied)),
          from(arguments.memory) {
        if (threadIdx.x == 0) {
            asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address), "r"(blockDim.x) : "memory");
            asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        }
    }

    // All threads arrive, so no thread misses the end of a phase: the next one needs its arrival.
    __device__ __forceinline__ void run() {
        if (threadIdx.x == 0) {
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address), "n"(BYTES)
                         : "memory");
            asm volatile(
                "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
                "l"(from), "n"(BYTES), "r"(address)
                : "memory");
        } else {
            asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address) : "memory");
        }
        wait_until_over(tests, [&] { return is_over_by_parity(address, parity); });
        parity ^= 1;
    }

    // Empty before the next object is made of it.
    __device__ __forceinline__ void finish(const Arguments &) {
        __syncthreads();
        if (threadIdx.x == 0) asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(address) : "memory");
    }

    // After each phase all threads find what was copied, in memory that was cleared before. All blocks copy the same
    // words. Warps arrive at different times.
    __device__ static void check(const Arguments &arguments) {
        constexpr u32 WORDS = BYTES / sizeof(u32);
        if (threadIdx.x == 0) {
            for (u32 word = 0; word < WORDS; word++) static_cast<volatile u32 *>(arguments.memory)[word] = 7 + word;
        }
        __syncthreads();
        Operation barrier(arguments);
        __syncthreads();
#pragma unroll 1
        for (u32 phase = 1; phase <= 16; phase++) {
            delay((threadIdx.x / 32 * 7 + phase * 5) % 32);
            __syncthreads();
            if (threadIdx.x == 0) {
                for (u32 word = 0; word < WORDS; word++) static_cast<volatile u32 *>(copied)[word] = 0;
                // What was written here is visible to copies.
                asm volatile("fence.proxy.async;" ::: "memory");
            }
            delay((threadIdx.x / 32 * 5 + phase * 3) % 32);
            barrier.run();
            const u32 word = threadIdx.x % WORDS, found = static_cast<volatile u32 *>(copied)[word];
            if (found != 7 + word) report_mismatch(arguments, 7 + word, found);
        }
        barrier.finish(arguments);
    }
};

template <>
constexpr Meets syncscope::MEETS<Operation> = Meets::BLOCK;

SYNCSCOPE_KERNELS
