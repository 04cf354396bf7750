// A sum that is split over the blocks of a GPU, as in a split-K matrix product: each block leaves a partial sum, and
// one block adds these up when all are there.
//
//   split threads=1024 elements=65536 launches=300 rounds=7
//
// `elements` are those of a block; there is one block for each multiprocessor. `last` lets the block that ends last add
// the partial sums: each block writes its own, passes a fence, and counts itself. `kernels` has a second kernel for it.
// Without synchronization (`none`) the first block adds the partial sums of the launch before. In `each` all blocks do:
// the sum lies behind the block that ends last, as in `last` and `kernels`.
//
// What the rows of a run predict for a sum: a fence of one thread, an addition whose result is awaited, a barrier of
// the block to tell all its threads, and a fence of these; or one more kernel in a stream.
//
// build: nvcc -O3 -std=c++17
// rows: --preset standard --only gpu.launch.stream,gpu.launch.graph,gpu.launch.programmatic,gpu.launch.programmatic_wait,gpu.launch.grid_sync,gpu.grid.cooperative --threads 1024 --blocks multiprocessors
// rows: --preset standard --only gpu.fence.device --dtype i32 --threads 32,1024 --blocks 1,multiprocessors
// rows: --preset quick --only gpu.atomic.add --dtype i32 --threads 32 --blocks 1
// rows: --preset quick --only hybrid.flag.round_trip,gpu.launch.stream_sync,gpu.block.syncthreads
// conditions: threads=1024 elements=131072,262144,524288
// let arrival = gpu.atomic.add[threads=32 blocks=1 dtype=i32 layout=shared space=global scope=device mode=latency order=relaxed]
// predict last = gpu.fence.device[threads=32 blocks=multiprocessors dtype=i32 layout=private stride=1 group=by_one] + arrival + gpu.block.syncthreads[threads=threads blocks=1] + gpu.fence.device[threads=threads blocks=1 dtype=i32 layout=private stride=1 group=nothing_written]
// predict kernels = gpu.launch.stream[threads=threads group="5 us"]
// experiment last - each = gpu.fence.device[threads=32 blocks=multiprocessors dtype=i32 layout=private stride=1 group=by_one] + arrival + gpu.block.syncthreads[threads=threads blocks=1] + gpu.fence.device[threads=threads blocks=1 dtype=i32 layout=private stride=1 group=nothing_written]
// experiment kernels - each = gpu.launch.stream[threads=threads group="5 us"]
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

static void check(cudaError_t error, const char *what) {
    if (error == cudaSuccess) return;
    fprintf(stderr, "split: %s: %s\n", what, cudaGetErrorString(error));
    exit(1);
}
#define CHECK(call) check(call, #call)

// The sum of a value of each thread, for the first thread.
__device__ int sum_of_block(int value) {
    __shared__ int of_warps[32];
    value = __reduce_add_sync(~0u, value);
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = value;
    __syncthreads();
    if (threadIdx.x < 32) value = __reduce_add_sync(~0u, threadIdx.x < blockDim.x / 32 ? of_warps[threadIdx.x] : 0);
    return value;
}

// From the second-level cache: the partial sums are those of other blocks.
__device__ void add_partial_sums(const int *partial, int blocks, int *result) {
    int sum = 0;
    for (int block = threadIdx.x; block < blocks; block += blockDim.x) sum += __ldcg(partial + block);
    __syncthreads();
    sum = sum_of_block(sum);
    if (threadIdx.x == 0) *result = sum;
}

enum Kind { NONE, LAST, KERNELS, EACH };
constexpr const char *NAMES[] = {"none", "last", "kernels", "each"};

template <Kind kind>
__global__ void split(const int *values, long elements, int *partial, const int *before, unsigned *arrived,
                      int *result) {
    const int *mine = values + blockIdx.x * elements;
    int sum = 0;
#pragma unroll 8
    for (long at = threadIdx.x; at < elements; at += blockDim.x) sum += mine[at];
    sum = sum_of_block(sum);
    if (threadIdx.x == 0) partial[blockIdx.x] = sum;
    if constexpr (kind == NONE) {
        if (blockIdx.x == 0) add_partial_sums(before, gridDim.x, result);
    }
    if constexpr (kind == EACH) add_partial_sums(before, gridDim.x, result);
    if constexpr (kind == LAST) {
        __shared__ bool is_last;
        if (threadIdx.x == 0) {
            __threadfence();
            is_last = atomicAdd(arrived, 1) == gridDim.x - 1;
        }
        __syncthreads();
        if (!is_last) return;
        __threadfence();
        add_partial_sums(partial, gridDim.x, result);
        if (threadIdx.x == 0) *arrived = 0;
    }
}

__global__ void finish(const int *partial, int blocks, int *result) { add_partial_sums(partial, blocks, result); }

struct Sum {
    long threads, elements, launches, blocks;
    int *values, *partial[2], *result;
    unsigned *arrived;

    // In ns, from an idle device to an idle device.
    long long run(int kind) {
        const auto start = std::chrono::steady_clock::now();
        for (long turn = 0; turn < launches; turn++) {
            int *now = partial[turn % 2], *before = partial[1 - turn % 2];
            if (kind == NONE) split<NONE><<<blocks, threads>>>(values, elements, now, before, arrived, result);
            if (kind == EACH) split<EACH><<<blocks, threads>>>(values, elements, now, before, arrived, result);
            if (kind == LAST) split<LAST><<<blocks, threads>>>(values, elements, now, before, arrived, result);
            if (kind == KERNELS) {
                split<KERNELS><<<blocks, threads>>>(values, elements, now, before, arrived, result);
                finish<<<1, threads>>>(now, blocks, result);
            }
        }
        CHECK(cudaGetLastError());
        CHECK(cudaDeviceSynchronize());
        return std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count();
    }
};

static long option(int count, char **arguments, const char *name, long fallback) {
    const size_t length = strlen(name);
    for (int at = 1; at < count; at++)
        if (!strncmp(arguments[at], name, length) && arguments[at][length] == '=')
            return atol(arguments[at] + length + 1);
    return fallback;
}

int main(int count, char **arguments) {
    Sum sum = {};
    sum.threads = option(count, arguments, "threads", 1024);
    sum.elements = option(count, arguments, "elements", 65536);
    sum.launches = option(count, arguments, "launches", 300);
    const long rounds = option(count, arguments, "rounds", 7);
    if (sum.threads < 32 || sum.threads > 1024 || sum.threads % 32 || sum.elements < 1 || sum.launches < 2) {
        fprintf(stderr, "split: 32, 64 ... 1024 threads, 1 element and 2 launches or more\n");
        return 2;
    }
    int processors;
    CHECK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0));
    sum.blocks = processors;
    std::vector<int> values(sum.blocks * sum.elements);
    unsigned expected = 0;
    for (size_t at = 0; at < values.size(); at++) expected += values[at] = int(at * 37 % 1001);
    CHECK(cudaMalloc(&sum.values, values.size() * sizeof(int)));
    CHECK(cudaMemcpy(sum.values, values.data(), values.size() * sizeof(int), cudaMemcpyHostToDevice));
    for (int *&partial : sum.partial) CHECK(cudaMalloc(&partial, sum.blocks * sizeof(int)));
    CHECK(cudaMalloc(&sum.result, sizeof(int)));
    CHECK(cudaMalloc(&sum.arrived, sizeof(unsigned)));
    CHECK(cudaMemset(sum.arrived, 0, sizeof(unsigned)));
    for (int kind = NONE; kind <= EACH; kind++) sum.run(kind);
    puts("round,variant,synchronizations,ns,right");
    for (long round = 0; round < rounds; round++)
        for (int kind = NONE; kind <= EACH; kind++) {
            CHECK(cudaMemset(sum.result, 0, sizeof(int)));
            CHECK(cudaDeviceSynchronize());
            const long long ns = sum.run(kind);
            int found;
            CHECK(cudaMemcpy(&found, sum.result, sizeof found, cudaMemcpyDeviceToHost));
            printf("%ld,%s,%ld,%lld,%s\n", round, NAMES[kind], sum.launches, ns,
                   unsigned(found) == expected ? "yes" : "no");
        }
    return 0;
}
