// The kernels of "On block-asynchronous execution on GPUs" (Anzt, Chow, Dongarra, LAPACK Working Note 291, 2016;
// figures 3 and 4), and the kernels that count their results on the device.
//
// A vector of ones. Each component is cleared if both of its neighbours are still one. If all components are updated at
// the same time, all but the two ends are zero afterwards. A component that is still one found a neighbour that had
// been cleared before: the paper calls that a memory inconsistency.
//
// BLOCK_THREADS is the paper's BLOCKSIZE. The vector has a multiple of BLOCK_THREADS components, and a thread for each.
// Pointers are plain, neither volatile nor restricted, as in the paper: what the compiler makes of the loads is part of
// the experiment, and tests count the instructions.
typedef unsigned int u32;
typedef unsigned long long u64;

#define KERNEL extern "C" __global__ void

// `gpu.rs` and `updates.rs` lay them out.
struct UpdateArguments {
    double *values;
    u64 components;
};

struct CountArguments {
    double *values;
    u64 *by_position;
    u32 *found;
    u64 *totals;
    u32 components;
    u32 vectors;
};

struct ArrivalArguments {
    u64 *records;
    u32 *counter;
};

static_assert(sizeof(UpdateArguments) == 16 && sizeof(CountArguments) == 40 && sizeof(ArrivalArguments) == 16,
              "the host passes other structures");

// Figure 3, as printed: directly in global memory. The right neighbour is read first, and the left one only if the
// right one is still one.
KERNEL update_global(const UpdateArguments arguments) {
    const int n = (int)arguments.components;
    double *val = arguments.values;
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if ((i > 0) && (i < n - 1)) {
        if (val[i + 1] == 1.0 && val[i - 1] == 1.0) val[i] = 0.0;
    }
}

// The control of update_global, with left and right exchanged. A property of the device stays as it was, an
// effect of the order of the two loads changes sides.
KERNEL update_global_left_first(const UpdateArguments arguments) {
    const int n = (int)arguments.components;
    double *val = arguments.values;
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if ((i > 0) && (i < n - 1)) {
        if (val[i - 1] == 1.0 && val[i + 1] == 1.0) val[i] = 0.0;
    }
}

// Figure 4: through shared memory. Printed are `tmp[i+1]`, `tmp[i-1]` and `tmp[i]`, which lie outside of the array of
// all blocks but the first, and `val[i-1]` at the right end of a block. The paper intends the thread's own place in the
// array, and the neighbour in the next block. As printed, a thread at the end of a block looks only at its neighbour in
// the other block.
KERNEL update_shared(const UpdateArguments arguments) {
    const int n = (int)arguments.components;
    double *val = arguments.values;
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    int tid = threadIdx.x;
    __shared__ double tmp[BLOCK_THREADS];
    if (i < n) tmp[tid] = val[i];
    __syncthreads();
    if ((tid > 0) && (tid < BLOCK_THREADS - 1)) {
        if (tmp[tid + 1] == 1.0 && tmp[tid - 1] == 1.0) tmp[tid] = 0.0;
    } else if ((tid == 0) && (i > 0)) {
        if (val[i - 1] == 1.0) tmp[tid] = 0.0;
    } else if ((tid == BLOCK_THREADS - 1) && (i < n - 1)) {
        if (val[i + 1] == 1.0) tmp[tid] = 0.0;
    }
    __syncthreads();
    if (i < n) val[i] = tmp[tid];
}

// The control of update_shared, in which all threads of a block do the same between the barriers. The threads at the
// ends read their neighbour in the other block before the first barrier and keep the result in shared memory, so that
// no warp waits for global memory after the barrier. No thread takes a path of its own. What is left is what the
// multiprocessor makes of its warps.
KERNEL update_shared_uniform(const UpdateArguments arguments) {
    const int n = (int)arguments.components;
    double *val = arguments.values;
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    int tid = threadIdx.x;
    __shared__ double tmp[BLOCK_THREADS];
    __shared__ bool may_clear[BLOCK_THREADS];
    double outer = 1.0;
    if ((tid == 0) && (i > 0)) outer = val[i - 1];
    if ((tid == BLOCK_THREADS - 1) && (i < n - 1)) outer = val[i + 1];
    may_clear[tid] = (i > 0) && (i < n - 1) && outer == 1.0;
    if (i < n) tmp[tid] = val[i];
    __syncthreads();
    // At an end of the block, the thread's own component, which is still one, stands for the neighbour outside.
    const int right = min(tid + 1, BLOCK_THREADS - 1), left = max(tid - 1, 0);
    const bool is_cleared = tmp[right] == 1.0 && tmp[left] == 1.0 && may_clear[tid];
    if (is_cleared) tmp[tid] = 0.0;
    __syncthreads();
    if (i < n) val[i] = tmp[tid];
}

// A component's place: `PositionClass` on the host. A block of at most one warp has no warp border inside.
enum PositionClass { INSIDE, WARP_FIRST, WARP_LAST, BLOCK_FIRST, BLOCK_LAST, WRONG };

__device__ __forceinline__ u32 class_of(u32 position) {
    const u32 thread = position % BLOCK_THREADS;
    if (thread == 0) return BLOCK_FIRST;
    if (thread == BLOCK_THREADS - 1) return BLOCK_LAST;
    if (thread % 32 == 0) return WARP_FIRST;
    if (thread % 32 == 31) return WARP_LAST;
    return INSIDE;
}

// Components that one block examines together.
constexpr u32 TILE = 1024;

// Counts the components that are still one in several vectors, by position, and notes for each vector the classes of
// these components. Then it resets all components to one. Blocks have TILE threads; the vectors have a multiple of
// TILE components.
KERNEL __launch_bounds__(TILE) count(const CountArguments arguments) {
    __shared__ u32 found;
    const u32 tiles = arguments.components / TILE;
    for (u32 tile = blockIdx.x; tile < arguments.vectors * tiles; tile += gridDim.x) {
        const u32 vector = tile / tiles, position = tile % tiles * TILE + threadIdx.x;
        double *const component = arguments.values + (u64)vector * arguments.components + position;
        const double value = *component;
        const bool is_end = position == 0 || position == arguments.components - 1;
        const bool is_wrong = value != 1.0 && (is_end || value != 0.0);
        if (threadIdx.x == 0) found = 0;
        __syncthreads();
        if (is_wrong) {
            atomicOr(&found, 1u << WRONG);
        } else if (value == 1.0 && !is_end) {
            atomicAdd(&arguments.by_position[position], 1ull);
            atomicOr(&found, 1u << class_of(position));
        }
        *component = 1.0;
        __syncthreads();
        if (threadIdx.x == 0 && found != 0) atomicOr(&arguments.found[vector], found);
    }
}

// Adds up the number of vectors in which something was found, by class, and clears the findings.
KERNEL tally(const CountArguments arguments) {
    for (u32 vector = threadIdx.x; vector < arguments.vectors; vector += blockDim.x) {
        const u32 found = arguments.found[vector];
        arguments.found[vector] = 0;
        for (u32 kind = INSIDE; kind <= WRONG; kind++) {
            if (found >> kind & 1u) atomicAdd(&arguments.totals[kind], 1ull);
        }
    }
}

// When and where each block begins: its place in the order of arrival, the number of its multiprocessor, and the time.
KERNEL arrive(const ArrivalArguments arguments) {
    if (threadIdx.x != 0) return;
    const u32 place = atomicAdd(arguments.counter, 1u);
    u32 multiprocessor;
    u64 nanoseconds;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(multiprocessor));
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds));
    u64 *const record = arguments.records + 2ull * blockIdx.x;
    record[0] = (u64)place << 32 | multiprocessor;
    record[1] = nanoseconds;
}

// Occupies multiprocessors between two grids and does nothing else.
KERNEL idle() {}
