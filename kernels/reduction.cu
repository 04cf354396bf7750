// Reductions of a vector of i32 on one device or several (`gpu.reduction.*`).
//
// VARIANT selects how the parts are joined, OPERATION what is computed, KIND the barrier of a grid. Variants of the
// group "device" read the vector with the same code and the same grid, so the difference of two of them is the
// difference of their synchronization.
#include "cluster.cuh"
#include "grid_kinds.cuh"

#ifndef KIND
#define KIND COOPERATIVE
#endif

enum Variant {
    // The five maximum reductions of Burtchell and Burtscher, IISWC 2024, listing 1.
    LISTING_1,
    LISTING_2,
    LISTING_3,
    LISTING_4,
    LISTING_5,
    ATOMIC,      // a partial result for each block, then one atomic operation of each block
    LAST_BLOCK,  // the last block to finish joins the partial results
    GRID,        // a barrier of the grid, then the first block joins the partial results
    CLUSTER,     // blocks of a cluster join their results, then one atomic operation of each cluster
    PARTIALS     // the kernel ends; the kernel `combine` joins the partial results
};

// What the host passes; `experiments/reduction/queue.rs` has the same structure.
struct ReductionArguments {
    int *data;                  // aligned to 16 bytes
    int *partials;              // one for each block
    int *result;                // 0 before: less than every element, and no part of a sum
    u32 *barrier;               // state of the barrier, or the counter of LAST_BLOCK
    const volatile u32 *abort;  // in host memory; the host sets it to end a wait that lasts too long
    u64 elements;
    u64 barriers_passed;  // by earlier launches
    u32 count;            // `combine`: partial results; `plant`: the value
    u32 unused;
};

static_assert(sizeof(ReductionArguments) == 64, "the host's structure must be this");

constexpr int LEAST = -2147483647 - 1;

struct Max {
    static constexpr int IDENTITY = LEAST;
    __device__ __forceinline__ static int of(int a, int b) { return max(a, b); }
    __device__ __forceinline__ static void to(int *target, int value) { atomicMax(target, value); }
#if __CUDA_ARCH__ >= 800
    __device__ __forceinline__ static int of_warp(int value) { return __reduce_max_sync(~0u, value); }
#endif
};

struct Sum {
    static constexpr int IDENTITY = 0;
    __device__ __forceinline__ static int of(int a, int b) { return (int)((u32)a + (u32)b); }
    __device__ __forceinline__ static void to(int *target, int value) { atomicAdd(target, value); }
#if __CUDA_ARCH__ >= 800
    __device__ __forceinline__ static int of_warp(int value) { return (int)__reduce_add_sync(~0u, (u32)value); }
#endif
};

using Op = OPERATION;

__device__ __forceinline__ int reduce_warp(int value) {
#if __CUDA_ARCH__ >= 800
    return Op::of_warp(value);
#else
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) value = Op::of(value, __shfl_xor_sync(~0u, value, distance));
    return value;
#endif
}

// The result is in the first thread. Blocks consist of full warps.
__device__ __forceinline__ int reduce_block(int value) {
    __shared__ int of_warps[32];
    value = reduce_warp(value);
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = value;
    __syncthreads();
    if (threadIdx.x < 32) value = reduce_warp(threadIdx.x < blockDim.x / 32 ? of_warps[threadIdx.x] : Op::IDENTITY);
    return value;
}

__device__ __forceinline__ int reduce_quad(int value, int4 quad) {
    return Op::of(value, Op::of(Op::of(quad.x, quad.y), Op::of(quad.z, quad.w)));
}

// A thread's part of the vector: quads of elements, neighbouring threads read neighbouring quads, four loads of a
// thread at a time. The last up to three elements belong to no quad.
__device__ __forceinline__ int read_part(const ReductionArguments &arguments) {
    const u64 quads = arguments.elements / 4, stride = (u64)gridDim.x * blockDim.x, thread = grid_thread();
    const int4 *const from = reinterpret_cast<const int4 *>(arguments.data);
    int value = Op::IDENTITY;
    u64 quad = thread;
    for (; quad + 3 * stride < quads; quad += 4 * stride) {
        const int4 a = from[quad], b = from[quad + stride], c = from[quad + 2 * stride], d = from[quad + 3 * stride];
        value = reduce_quad(reduce_quad(reduce_quad(reduce_quad(value, a), b), c), d);
    }
    for (; quad < quads; quad += stride) value = reduce_quad(value, from[quad]);
    const u64 rest = 4 * quads + thread;
    return rest < arguments.elements ? Op::of(value, arguments.data[rest]) : value;
}

// One block joins the partial results of all blocks, which other blocks wrote. The result is in the first thread.
__device__ __forceinline__ int joined_partials(const ReductionArguments &arguments, u32 count) {
    int value = Op::IDENTITY;
    for (u32 index = threadIdx.x; index < count; index += blockDim.x) {
        value = Op::of(value, static_cast<volatile int *>(arguments.partials)[index]);
    }
    return reduce_block(value);
}

__device__ __forceinline__ void join_partials(const ReductionArguments &arguments, u32 count) {
    const int value = joined_partials(arguments, count);
    if (threadIdx.x == 0) *arguments.result = value;
}

__device__ __forceinline__ void reduce_by_barrier(const ReductionArguments &arguments, int value) {
    GridBarrierArguments state{};
    state.memory = arguments.barrier;
    state.abort = arguments.abort;
    state.barriers_passed = arguments.barriers_passed;
    BarrierOf<KIND> barrier(state);
    if (threadIdx.x == 0) arguments.partials[blockIdx.x] = value;
    barrier.run();
    if (blockIdx.x == 0) join_partials(arguments, gridDim.x);
}

// Publishes the result of the block and tests whether those of all others are there: as in the CUDA sample
// threadFenceReduction. The counter returns to 0.
__device__ __forceinline__ bool is_last_block(const ReductionArguments &arguments, int value) {
    __shared__ bool is_last;
    if (threadIdx.x == 0) {
        arguments.partials[blockIdx.x] = value;
        __threadfence();
        is_last = atomicInc(arguments.barrier, gridDim.x - 1) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    return is_last;
}

#if __CUDA_ARCH__ >= 900
// The second barrier keeps the shared memory of each block until the first block has read it.
__device__ __forceinline__ void reduce_by_cluster(const ReductionArguments &arguments, int value) {
    __shared__ int of_block;
    if (threadIdx.x == 0) of_block = value;
    arrive();
    wait();
    if (cluster_rank() == 0 && threadIdx.x < 32) {
        const bool is_there = threadIdx.x < cluster_blocks();
        const int found = is_there ? (int)load_cluster(address_in(threadIdx.x, &of_block)) : Op::IDENTITY;
        const int joined = reduce_warp(found);
        if (threadIdx.x == 0) Op::to(arguments.result, joined);
    }
    arrive();
    wait();
}
#endif

// The five reductions as printed, with the tests of the listing. The names are those of the listing.
template <Variant WHICH>
__device__ __forceinline__ void reduce_as_listed(const ReductionArguments &arguments) {
    __shared__ int block_result;
    const int *const data = arguments.data;
    int &result = *arguments.result;
    const int size = (int)arguments.elements, lane = threadIdx.x % 32;
    const int i = threadIdx.x + blockIdx.x * blockDim.x;
    if constexpr (WHICH == LISTING_1) {
        if (i < size) atomicMax(&result, data[i]);
    } else if constexpr (WHICH == LISTING_2) {
        if (__any_sync(~0u, i < size)) {
            int val = (i < size) ? data[i] : LEAST;
            for (int j = 32 / 2; j > 0; j /= 2) val = max(val, __shfl_xor_sync(~0u, val, j));
            if (lane == 0) atomicMax(&result, val);
        }
    } else if constexpr (WHICH == LISTING_3) {
        if (threadIdx.x == 0) block_result = LEAST;
        __syncthreads();
        if (i < size) atomicMax_block(&block_result, data[i]);
        __syncthreads();
        if (threadIdx.x == 0) atomicMax(&result, block_result);
    } else if constexpr (WHICH == LISTING_4) {
#if __CUDA_ARCH__ >= 800
        if (threadIdx.x == 0) block_result = LEAST;
        __syncthreads();
        if (__any_sync(~0u, i < size)) {
            int val = (i < size) ? data[i] : LEAST;
            val = __reduce_max_sync(~0u, val);
            if (lane == 0) atomicMax_block(&block_result, val);
        }
        __syncthreads();
        if (threadIdx.x == 0) atomicMax(&result, block_result);
#endif
    } else if constexpr (WHICH == LISTING_5) {
        int thread_result = LEAST;
        if (threadIdx.x == 0) block_result = LEAST;
        __syncthreads();
        // 64 bits: the index of the last element plus the grid may exceed an int.
        for (long long j = i; j < size; j += blockDim.x * gridDim.x) thread_result = max(thread_result, data[j]);
        atomicMax_block(&block_result, thread_result);
        __syncthreads();
        if (threadIdx.x == 0) atomicMax(&result, block_result);
    }
}

#define SYNCSCOPE_REDUCTION extern "C" __global__ void

template <Variant WHICH>
__device__ __forceinline__ void reduce_with(const ReductionArguments &arguments) {
    if constexpr (WHICH <= LISTING_5) {
        reduce_as_listed<WHICH>(arguments);
    } else {
        const int value = reduce_block(read_part(arguments));
        if constexpr (WHICH == ATOMIC) {
            if (threadIdx.x == 0) Op::to(arguments.result, value);
        } else if constexpr (WHICH == LAST_BLOCK) {
            if (is_last_block(arguments, value)) join_partials(arguments, gridDim.x);
        } else if constexpr (WHICH == GRID) {
            reduce_by_barrier(arguments, value);
        } else if constexpr (WHICH == CLUSTER) {
#if __CUDA_ARCH__ >= 900
            reduce_by_cluster(arguments, value);
#endif
        } else {
            if (threadIdx.x == 0) arguments.partials[blockIdx.x] = value;
        }
    }
}

// At least so many blocks of 512 threads are on a multiprocessor at the same time.
#define SYNCSCOPE_RESIDENT 2

#ifdef SEVERAL
constexpr u32 MOST_MEMBERS = 8;

// `experiments/reduction/queue.rs` has the same structure.
struct SeveralArguments : ReductionArguments {
    // In the memory of each device: two words for each device that writes there, for every other reduction, because a
    // device may be one reduction ahead of the others.
    u64 *words[MOST_MEMBERS];
    u32 device;  // 0 to devices - 1
    u32 devices;
    u32 epoch;  // of this reduction, from 1 on
    u32 reserved;
};

static_assert(sizeof(SeveralArguments) == 144, "the host's structure must be this");

// The last block of each device writes the result of the device and the epoch to every device, in one word, so that no
// fence must stand between them. Then it waits for the words of all others.
SYNCSCOPE_REDUCTION __launch_bounds__(512, SYNCSCOPE_RESIDENT) reduce(const SeveralArguments arguments) {
    if (!is_last_block(arguments, reduce_block(read_part(arguments)))) return;
    int value = joined_partials(arguments, gridDim.x);
    if (threadIdx.x != 0) return;
    const u64 word = (u64)(u32)value << 32 | arguments.epoch;
    const u32 half = arguments.epoch % 2 * MOST_MEMBERS;
#pragma unroll 1
    for (u32 device = 0; device < arguments.devices; device++) {
        u64 *const there = arguments.words[device] + half + arguments.device;
        asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(there), "l"(word) : "memory");
    }
    WaitLimit limit(arguments.abort);
#pragma unroll 1
    for (u32 device = 0; device < arguments.devices; device++) {
        const u64 *const here = arguments.words[arguments.device] + half + device;
        u64 found = 0;
        limit.wait_for([&] {
            asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(found) : "l"(here) : "memory");
            return (u32)found == arguments.epoch;
        });
        if (device != arguments.device) value = Op::of(value, (int)(found >> 32));
    }
    *arguments.result = value;
}
#elif defined(IN_CLUSTERS)
SYNCSCOPE_REDUCTION __cluster_dims__() __launch_bounds__(512, SYNCSCOPE_RESIDENT)
    reduce(const ReductionArguments arguments) {
    reduce_with<VARIANT>(arguments);
}
#else
SYNCSCOPE_REDUCTION __launch_bounds__(512, SYNCSCOPE_RESIDENT) reduce(const ReductionArguments arguments) {
    reduce_with<VARIANT>(arguments);
}
#endif

SYNCSCOPE_REDUCTION __launch_bounds__(512, SYNCSCOPE_RESIDENT) combine(const ReductionArguments arguments) {
    join_partials(arguments, arguments.count);
}

// Stands before the kernels of a chain, so that all of them are queued before the first one starts: waits until the
// host writes `count` to `barrier`, which lies in its memory.
SYNCSCOPE_REDUCTION hold(const ReductionArguments arguments) {
    WaitLimit limit(arguments.abort);
    limit.wait_for([&] { return *static_cast<const volatile u32 *>(arguments.barrier) == arguments.count; });
}

// The vector of every test, which `catalogue/families/reduction.rs` knows too: for the maximum, values from 1 to 2^30
// in an order that no cache line repeats; for the sum, the numbers from 0 to 1020 over and over.
__device__ __forceinline__ int element_of(u64 index) {
    if (Op::IDENTITY == 0) return (int)(index % 1021);
    return (int)(((u32)index * 0x9e3779b1u) >> 2) | 1;
}

SYNCSCOPE_REDUCTION __launch_bounds__(512, SYNCSCOPE_RESIDENT) fill(const ReductionArguments arguments) {
    for (u64 index = grid_thread(); index < arguments.elements; index += (u64)gridDim.x * blockDim.x) {
        arguments.data[index] = element_of(index);
    }
}

// Writes the largest value, `count`, to the last of the elements; 0 writes what was there.
SYNCSCOPE_REDUCTION __launch_bounds__(512, SYNCSCOPE_RESIDENT) plant(const ReductionArguments arguments) {
    const u64 last = arguments.elements - 1;
    if (grid_thread() == 0) arguments.data[last] = arguments.count == 0 ? element_of(last) : (int)arguments.count;
}
