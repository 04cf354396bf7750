// The cost of the operations in `examples/measure`, by a program that shares nothing with syncscope: loops with two numbers of
// copies, the slope of two lengths of each, and the difference of both slopes, in which the loop itself drops out. One line for
// each row of `syncscope measure`: name behind `gpu.own.`, dtype, threads, blocks, ns, lowest and highest of nine.
#include <cub/block/block_reduce.cuh>
#include <cuda/barrier>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

static void check(cudaError_t error, const char *call) {
    if (error == cudaSuccess) return;
    printf("# %s: %s\n", call, cudaGetErrorString(error));
    exit(1);
}
#define CHECK(CALL) check((CALL), #CALL)

template <typename T>
struct State {
    T value;
    T *mine, *shared;
};

using Barrier = cuda::barrier<cuda::thread_scope_block>;
__device__ Barrier &barrier() {
    __shared__ alignas(Barrier) unsigned char bytes[sizeof(Barrier)];
    return *reinterpret_cast<Barrier *>(bytes);
}

struct Plain {
    static __device__ void setup() {}
};
#define OPERATION(NAME, BASE, ...) \
    struct NAME : BASE { template <typename T> static __device__ __forceinline__ void run(State<T> &me) { __VA_ARGS__; } };
struct Object {
    static __device__ void setup() {
        if (threadIdx.x == 0) init(&barrier(), blockDim.x);
        __syncthreads();
    }
};
OPERATION(BlockSum, Plain, using R = cub::BlockReduce<T, 256>; __shared__ typename R::TempStorage storage; me.value = R(storage).Sum(me.value); __syncthreads())
OPERATION(OfObject, Object, barrier().arrive_and_wait())
OPERATION(OfBlock, Plain, __syncthreads())
OPERATION(Cluster, Plain, asm volatile("barrier.cluster.arrive.aligned;\n barrier.cluster.wait.aligned;" ::: "memory"))
OPERATION(Relaxed, Plain, asm volatile("barrier.cluster.arrive.relaxed.aligned;\n barrier.cluster.wait.aligned;" ::: "memory"))
OPERATION(Bins, Plain, atomicAdd(&me.shared[threadIdx.x % 18], (T)1))
OPERATION(Mine, Plain, atomicAdd(me.mine, (T)1))
struct Exchanges : Plain {
    template <typename T>
    static __device__ __forceinline__ void run(State<T> &me) {
        T v[32];
#pragma unroll
        for (int i = 0; i < 32; i++) v[i] = me.value * (2 * i + 3);
#pragma unroll
        for (int i = 0; i < 32; i++) v[i] += __shfl_xor_sync(~0u, v[i], 1 + i % 16);
#pragma unroll
        for (int i = 0; i < 32; i++) me.value = (me.value ^ v[i]) * 5 + v[31 - i];
    }
};

template <typename Op, typename T, int COPIES>
__device__ __forceinline__ void body(T *memory, int iterations, unsigned never) {
    __shared__ T shared[1024];
    for (unsigned i = threadIdx.x; i < 1024; i += blockDim.x) shared[i] = 0;
    const unsigned id = blockIdx.x * blockDim.x + threadIdx.x;
    State<T> me{(T)id, memory + 1024 + id, shared};
    __syncthreads();
    Op::setup();
#pragma unroll 1
    for (int i = 0; i < iterations; i++) {
#pragma unroll
        for (int copy = 0; copy < COPIES; copy++) Op::run(me);
    }
    if (never) *memory = me.value;
}
// The launch's threads tell the compiler how many registers there are.
template <typename Op, typename T, int COPIES, int THREADS>
__global__ void __launch_bounds__(THREADS) loop(T *memory, int iterations, unsigned never) { body<Op, T, COPIES>(memory, iterations, never); }
template <typename Op, typename T, int BLOCKS, int COPIES>
__global__ void __cluster_dims__(BLOCKS, 1, 1) clustered(T *memory, int iterations, unsigned never) { body<Op, T, COPIES>(memory, iterations, never); }

static void *memory;
static cudaEvent_t begin, end;

template <typename T>
static double once(void (*kernel)(T *, int, unsigned), int blocks, int threads, int iterations) {
    CHECK(cudaEventRecord(begin));
    kernel<<<blocks, threads>>>((T *)memory, iterations, 0u);
    CHECK(cudaEventRecord(end));
    CHECK(cudaEventSynchronize(end));
    float ms = 0;
    CHECK(cudaEventElapsedTime(&ms, begin, end));
    return ms * 1e6;
}

// `few` and `many` are kernels with COPIES and twice as many.
template <int COPIES, typename T>
static void row(const char *name, const char *type, void (*few)(T *, int, unsigned), void (*many)(T *, int, unsigned), int threads, int blocks) {
    for (auto kernel : {few, many}) CHECK(cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
    int n = 16;
    while (n < 1 << 22 && once(few, blocks, threads, n) < 4e5) n *= 2;
    std::vector<double> costs;
    for (int i = 0; i < 9; i++) {
        double slopes[2];
        int at = 0;
        for (auto kernel : {few, many}) {
            const double less = once(kernel, blocks, threads, n), more = once(kernel, blocks, threads, 3 * n);
            slopes[at++] = (more - less) / (2.0 * n);
        }
        costs.push_back((slopes[1] - slopes[0]) / COPIES);
    }
    std::sort(costs.begin(), costs.end());
    printf("%s,%s,%d,%d,%.4f,%.4f,%.4f\n", name, type, threads, blocks, costs[4], costs[0], costs[8]);
    fflush(stdout);
}

template <typename Op, typename T, int COPIES, int MOST = 1024>
static void looped(const char *name, const char *type, int threads, int blocks) {
    row<COPIES, T>(name, type, loop<Op, T, COPIES, MOST>, loop<Op, T, 2 * COPIES, MOST>, threads, blocks);
}
template <typename Op, int BLOCKS>
static void in_cluster(const char *name) {
    row<16, int>(name, "", clustered<Op, int, BLOCKS, 16>, clustered<Op, int, BLOCKS, 32>, 128, BLOCKS);
}

int main() {
    CHECK(cudaMalloc(&memory, 64 << 20));
    CHECK(cudaMemset(memory, 0, 64 << 20));
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    for (int i = 0; i < 300; i++) once(loop<OfBlock, int, 16, 1024>, 132, 1024, 128);  // the clock rises
    for (int blocks : {1, 132}) {
        looped<BlockSum, int, 8>("block_sum", "i32", 256, blocks);
        looped<BlockSum, float, 8>("block_sum", "f32", 256, blocks);
    }
    for (int threads : {32, 128, 1024}) {
        looped<OfObject, int, 16>("block_barrier_object", "", threads, 1);
        looped<OfBlock, int, 16>("block_barrier_plain", "", threads, 1);
    }
    in_cluster<Cluster, 2>("cluster_arrival"), in_cluster<Cluster, 4>("cluster_arrival"), in_cluster<Cluster, 8>("cluster_arrival"), in_cluster<Cluster, 16>("cluster_arrival");
    in_cluster<Relaxed, 2>("cluster_arrival_relaxed"), in_cluster<Relaxed, 4>("cluster_arrival_relaxed"), in_cluster<Relaxed, 8>("cluster_arrival_relaxed");
    in_cluster<Relaxed, 16>("cluster_arrival_relaxed");
    looped<Bins, int, 16>("bins", "i32", 1024, 132);
    looped<Bins, float, 16>("bins", "f32", 1024, 132);
    looped<Mine, int, 128>("helper", "i32", 32, 1);
    looped<Mine, int, 128>("helper", "i32", 256, 1);
    looped<Exchanges, int, 4, 32>("exchanges", "i32", 32, 1);
    looped<Exchanges, int, 4>("exchanges", "i32", 1024, 1);
    printf("# %s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
