// Memory fences (gpu.fence) between the updates of two arrays, as in Burtchell and Burtscher, IISWC 2024: each thread
// updates its element of the first array, passes the fence, and updates its element of the second array. The baseline
// has only the two updates. With FENCED_CONTEXT, as the paper has it for the fence of a block, a fence follows each
// update in both loops, and the test has one more, behind another.
//
// With IS_ALONE there are no updates: the baseline has one fence and the test two. With BY_ONE, one thread of the block
// executes it between two barriers.
//
// VALUE is the type of the elements, FENCE the CUDA function. ELEMENT is VALUE, or volatile VALUE.
#include "harness.cuh"

using Arguments = VariableArguments;

// Whose accesses the fence orders.
enum Reach { NOBODY, BLOCK, DEVICE };

#if __CUDA_ARCH__ >= 900
__device__ __forceinline__ void fence_proxy_async() { asm volatile("fence.proxy.async;" ::: "memory"); }
__device__ __forceinline__ void fence_proxy_async_global() { asm volatile("fence.proxy.async.global;" ::: "memory"); }
__device__ __forceinline__ void fence_proxy_async_shared() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
#endif

using Value = VALUE;
using Element = ELEMENT;

// Elements from the beginning of the first array to that of the second, as `experiments/parameters.rs` reserves them.
// It is as if they were allocated one after the other, as in the paper: the driver aligns allocations to 512 bytes. So
// the two elements of a thread share neither a sector nor a line, even if the arrays have one element each.
__device__ constexpr u64 array_distance(u64 elements) {
    constexpr u64 ALIGNMENT = 512 / sizeof(Value);
    return (elements + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

struct Operation {
    Element *first, *second;
    Value one;

    // The compiler does not know the distance, so it cannot combine updates of one array across those of the other.
    __device__ __forceinline__ explicit Operation(const Arguments &arguments)
        : first(static_cast<Value *>(arguments.memory) + (u64)arguments.stride * grid_thread()),
          second(first + array_distance((u64)arguments.stride * gridDim.x * blockDim.x)),
          one((Value)arguments.opaque_one) {}

    __device__ __forceinline__ void before() {
        if constexpr (!FENCED_CONTEXT) *first = *first + one;
    }

    __device__ __forceinline__ void run() {
        if constexpr (BY_ONE) __syncthreads();
        if (!BY_ONE || threadIdx.x == 0) FENCE();
        if constexpr (BY_ONE) __syncthreads();
    }

    __device__ __forceinline__ void after() {
        if constexpr (FENCED_CONTEXT) {
            *first = *first + one;
            run();
        }
        *second = *second + one;
        if constexpr (FENCED_CONTEXT) run();
    }

    __device__ __forceinline__ void finish(const Arguments &) {}

    // Each element has been updated as often as its partner. From then on, a thread that sees an update of a second
    // element must see the earlier update of the first one. Readers read in the opposite order, with a fence between
    // the reads.
    __device__ static void check(const Arguments &arguments) {
        Operation own(arguments);
        const Value updates = *own.first, others = *own.second;
        if (!IS_ALONE && (updates != others || updates == 0)) report_mismatch(arguments, updates, others);
        if (REACH == NOBODY) return;
        const volatile Value *first = own.first + arguments.stride * ((long long)partner() - grid_thread());
        const volatile Value *second = own.second + arguments.stride * ((long long)partner() - grid_thread());
#pragma unroll 1
        for (u32 round = 0; round < 64; round++) {
            *own.first = *own.first + own.one;
            own.run();
            own.after();
            const Value later = *second;
            own.run();
            const Value earlier = *first;
            if (earlier < later) report_mismatch(arguments, later, earlier);
        }
    }

    // A thread in the scope of the fence: in another warp for block scope, otherwise in another block if there is one.
    __device__ static u32 partner() {
        const u32 threads = REACH == BLOCK ? blockDim.x : gridDim.x * blockDim.x;
        const u32 thread = REACH == BLOCK ? threadIdx.x : grid_thread();
        return grid_thread() - thread + (thread + threads / 2) % threads;
    }
};

template <>
constexpr Meets syncscope::MEETS<Operation> = BY_ONE ? Meets::BLOCK : Meets::WARP;

#if IS_ALONE
SYNCSCOPE_KERNELS
#else
SYNCSCOPE_KERNELS_AS(InContext, Together)
#endif
