// What compute capability 10 added between threads and the units that work beside them (gpu.block.tensor_*,
// try_cancel).
//
// KIND selects the operation. COMMIT: one thread lets a barrier object end a phase when its operations on tensor memory
// have ended (here there are none), and all threads of the block wait for that. FENCED: a barrier of the block between
// the fences that order such operations of one thread before those of another. CANCEL: one thread asks for a block of
// the grid that has not begun, and all wait for the answer, which comes through a barrier object.
#include "mbarrier.cuh"

using Arguments = RegisterArguments;

enum Kind { COMMIT, FENCED, CANCEL };

__shared__ u64 object;
alignas(16) __shared__ u32 answer[4];

struct Operation {
    u32 here;
    u32 parity = 0;  // of the phase that ends next
    u32 tests = 0;
    u32 got = 0;  // blocks that this block took from the grid

    __device__ __forceinline__ explicit Operation(const Arguments &) : here((u32)__cvta_generic_to_shared(&object)) {
        if (threadIdx.x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(here) : "memory");
        __syncthreads();
    }

    __device__ __forceinline__ void run() {
        if constexpr (KIND == FENCED) {
            asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
            __syncthreads();
            asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
            return;
        }
        if (threadIdx.x == 0) ask();
        wait_until_over(tests, [&] { return is_over_by_parity(here, parity); });
        parity ^= 1;
        if constexpr (KIND == CANCEL) got += was_cancelled();
    }

    __device__ __forceinline__ void ask() const {
        if constexpr (KIND == COMMIT) {
            asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(here)
                         : "memory");
        } else if constexpr (KIND == CANCEL) {
            asm volatile("mbarrier.arrive.expect_tx.relaxed.cta.shared::cta.b64 _, [%0], 16;" ::"r"(here) : "memory");
            asm volatile(
                "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%0], [%1];" ::"r"(
                    (u32)__cvta_generic_to_shared(answer)),
                "r"(here)
                : "memory");
        }
    }

    // Whether the answer names a block: the one that asked has its work now.
    __device__ __forceinline__ static u32 was_cancelled() {
        u32 yes = 0;
        if constexpr (KIND == CANCEL) {
            asm volatile(
                "{.reg .pred yes; .reg .b128 answer; ld.shared.b128 answer, [%1];"
                "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 yes, answer; selp.u32 %0, 1, 0, yes;}"
                : "=r"(yes)
                : "r"((u32)__cvta_generic_to_shared(answer))
                : "memory");
        }
        return yes;
    }

    __device__ __forceinline__ void finish(const Arguments &arguments) {
        if constexpr (KIND == CANCEL) static_cast<u32 *>(arguments.memory)[grid_thread()] = got;
        __syncthreads();
        if (threadIdx.x == 0) asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(here) : "memory");
    }

    // A barrier of the block; or one phase ends with each operation, and no more.
    __device__ static void check(const Arguments &arguments) {
        if constexpr (KIND == FENCED) {
            check_barrier<Operation>(arguments, blockDim.x);
        } else {
            Operation operation(arguments);
#pragma unroll 1
            for (u32 phase = 0; phase < 16; phase++) {
                operation.run();
                const bool is_early = is_over_by_parity(operation.here, operation.parity);
                if (is_early) report_mismatch(arguments, 0u, 1u);
                __syncthreads();
            }
        }
    }
};

template <>
constexpr Meets syncscope::MEETS<Operation> = Meets::BLOCK;

SYNCSCOPE_KERNELS
