// Atomic operations by order, scope and type, histograms, fences by context, and an exchange through shared memory, by a program
// that shares nothing with syncscope: loops of two lengths in which every thread does the same work, the slope of the slowest
// warp's cycles, the mean over addresses. One line for each row, as key=value pairs.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda/atomic>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <vector>
typedef unsigned u32;
typedef unsigned long long u64;
#define OK(x) do { cudaError_t bad_ = x; if (bad_) { printf("# error %s line %d\n", cudaGetErrorString(bad_), __LINE__); exit(1); } } while (0)
struct Thread { char *memory; u64 index; u32 value, lane, bin, own_bin, share; u64 apart; u32 *shared; };
#define OP(NAME, ...) struct NAME { __device__ __forceinline__ static void run(Thread &t) { __VA_ARGS__; } };
#define ME(T) ((T *)t.memory + t.index * t.share)
// The library's operations, each with one order and scope.
template <typename T, cuda::thread_scope S, int ORDER> OP(Add, (cuda::atomic_ref<T, S>(*ME(T)).fetch_add((T)t.value, (cuda::memory_order)ORDER)))
template <cuda::thread_scope S, int ORDER> OP(Exchange, (cuda::atomic_ref<int, S>(*ME(int)).exchange(t.value, (cuda::memory_order)ORDER)))
template <cuda::thread_scope S, int ORDER> OP(Cas, int e = 0; (cuda::atomic_ref<int, S>(*ME(int)).compare_exchange_strong(e, 0, (cuda::memory_order)ORDER)))
OP(ReleaseDevice, asm volatile("red.release.gpu.global.add.s32 [%0], %1;" ::"l"(ME(int)), "r"(t.value) : "memory"))
OP(ReleaseBlock, asm volatile("red.release.cta.global.add.s32 [%0], %1;" ::"l"(ME(int)), "r"(t.value) : "memory"))
OP(ReleaseSystem, asm volatile("red.release.sys.global.add.s32 [%0], %1;" ::"l"(ME(int)), "r"(t.value) : "memory"))
OP(Half, atomicAdd(ME(__half), __float2half(1.0f)))
OP(Half2, atomicAdd(ME(__half2), __floats2half2_rn(1.0f, 1.0f)))
OP(Bf16, atomicAdd(ME(__nv_bfloat16), __float2bfloat16(1.0f)))
OP(Bf162, atomicAdd(ME(__nv_bfloat162), __floats2bfloat162_rn(1.0f, 1.0f)))
template <typename T> OP(GlobalBin, atomicAdd((T *)t.memory + t.bin, (T)t.value))
template <typename T> OP(SharedBin, atomicAdd((T *)t.shared + t.own_bin, (T)t.value))
OP(ThroughShared, t.shared[threadIdx.x] = t.value; __syncwarp(); t.value = t.shared[(threadIdx.x & ~31u) + t.lane]; __syncwarp())
#define PROXY(kind) asm volatile("fence.proxy.async" kind ";" ::: "memory")
// The distance is known only at run time: otherwise the compiler adds updates of one element up across those of the other.
#define UPDATE(offset) ((int *)t.memory)[t.index + (offset)] += 1
#define ONE(fence) __syncthreads(); if (threadIdx.x == 0) fence; __syncthreads()
OP(Updates, UPDATE(0); UPDATE(t.apart))
#define FENCES(NAME, fence) \
    OP(NAME##Alone, fence) OP(NAME##ByOne, UPDATE(0); ONE(fence); UPDATE(t.apart)) OP(NAME##Updates, UPDATE(0); fence; UPDATE(t.apart))
FENCES(Block, __threadfence_block())
FENCES(Device, __threadfence())
FENCES(System, __threadfence_system())
FENCES(Async, PROXY(""))
FENCES(AsyncShared, PROXY(".shared::cta"))
FENCES(AsyncGlobal, PROXY(".global"))

template <typename Op, int UNROLL> __global__ void __launch_bounds__(1024, 2) loop(char *memory, u32 zero, u32 bins, u32 share, u32 iterations, u64 apart, long long *out) {
    __shared__ u32 words[1024];
    Thread t{memory, blockIdx.x * blockDim.x + threadIdx.x, 1 + zero, (threadIdx.x + 1) % 32, (blockIdx.x * blockDim.x + threadIdx.x) % bins, threadIdx.x % bins, share, apart, words};
    words[threadIdx.x] = 0;
    __syncthreads();
    const long long start = clock64();
#pragma unroll 1
    for (u32 iteration = 0; iteration < iterations; iteration++) {
#pragma unroll
        for (int copy = 0; copy < UNROLL; copy++) Op::run(t);
    }
    const long long stop = clock64();
    if (threadIdx.x % 32 == 0) out[(blockIdx.x * blockDim.x + threadIdx.x) / 32] = stop - start;
    if (t.value == 0x12345678u + zero) *(u32 *)memory = t.value + words[threadIdx.x ^ 1];
}
static char *memory; static long long *results; static const char *only;
static const size_t POOL = 1u << 30;
template <typename Op, int UNROLL> static double slowest(int threads, int blocks, u32 bins, u32 share, u32 iterations, size_t offset) {
    loop<Op, UNROLL><<<blocks, threads>>>(memory + offset, 0, bins, share, iterations, ((u64)threads * blocks + 127) / 128 * 128, results);
    std::vector<long long> all(blocks * ((threads + 31) / 32));
    OK(cudaMemcpy(all.data(), results, all.size() * 8, cudaMemcpyDeviceToHost));
    return (double)*std::max_element(all.begin(), all.end());
}
template <typename Op, int UNROLL> static std::vector<double> slopes(int threads, int blocks, u32 bins = 1, u32 share = 1) {
    // Any pages: at a fixed distance all may lie in one half of the cache, because an address's half is a sum of its bits.
    const size_t pages = (POOL - ((size_t)threads * blocks * 16 + (1 << 16))) / 4096;
    u64 random = 88172645463325252ull;
    double one = slowest<Op, UNROLL>(threads, blocks, bins, share, 4, 0) / 4;
    const u32 n = (u32)std::min(3e6, std::max(4.0, 150e3 / one));
    std::vector<double> all;
    for (int place = 0; place < (blocks == 1 ? 192 : 64); place++) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        const size_t offset = random % pages * 4096;
        const double less = slowest<Op, UNROLL>(threads, blocks, bins, share, n, offset), more = slowest<Op, UNROLL>(threads, blocks, bins, share, 2 * n, offset);
        all.push_back((more - less) / n / UNROLL);
    }
    return all;
}
// Half of the addresses lie in the far half of the cache: a median would be one kind or the other.
static double mean(std::vector<double> v) { std::sort(v.begin(), v.end()); double sum = 0; for (size_t k = 1; k + 1 < v.size(); k++) sum += v[k]; return sum / (v.size() - 2); }
static void print(const char *row, int threads, int blocks, double cycles) { printf("%s threads=%d blocks=%d cycles=%.3f\n", row, threads, blocks, cycles); fflush(stdout); }
template <typename Op, int UNROLL = 16> static void row(const char *name, int threads, int blocks, u32 bins = 1, u32 share = 1) { if (strstr(name, only)) print(name, threads, blocks, mean(slopes<Op, UNROLL>(threads, blocks, bins, share))); }
template <typename Op> static void grids(const char *name) { row<Op, 64>(name, 32, 1); row<Op, 16>(name, 1024, 1); row<Op, 16>(name, 32, 132); row<Op, 8>(name, 1024, 132); }
template <typename Op, typename Without> static void fence(const char *name, int threads, int blocks) {
    if (!strstr(name, only)) return;
    std::vector<double> with = slopes<Op, 8>(threads, blocks), without = slopes<Without, 8>(threads, blocks);
    for (size_t k = 0; k < with.size(); k++) with[k] -= without[k];
    print(name, threads, blocks, mean(with));
}
#define ORDERS(OP_, id, S, scope) \
    for (int threads : {32, 1024}) { \
        row<OP_<S, cuda::memory_order_acquire>>("primitive=" id " dtype=i32 scope=" scope " order=acquire", threads, 1); \
        row<OP_<S, cuda::memory_order_acq_rel>>("primitive=" id " dtype=i32 scope=" scope " order=acq_rel", threads, 1); \
        row<OP_<S, cuda::memory_order_seq_cst>>("primitive=" id " dtype=i32 scope=" scope " order=seq_cst", threads, 1); \
    }
#define FENCE_ROWS(NAME, id) \
    for (int threads : {32, 1024}) for (int blocks : {1, 132}) { \
        row<NAME##Alone, 64>("primitive=" id " group=nothing_written", threads, blocks); \
    }
template <cuda::thread_scope S, int O> using AddInt = Add<int, S, O>;
// Prints the rows whose name contains a word; with another argument, as a process that has mapped host memory.
int main(int argc, char **argv) {
    only = argc > 1 ? argv[1] : ""; void *mapped; if (argc > 2) OK(cudaHostAlloc(&mapped, 1 << 16, cudaHostAllocMapped));
    OK(cudaMalloc((void **)&memory, POOL + (64 << 20))); OK(cudaMemset(memory, 0, POOL + (64 << 20))); OK(cudaMalloc((void **)&results, 8 * 33 * 1024 * 8));
    constexpr auto D = cuda::thread_scope_device, B = cuda::thread_scope_block, S = cuda::thread_scope_system;
    ORDERS(AddInt, "gpu.atomic.add", D, "device") ORDERS(Exchange, "gpu.atomic.exchange", D, "device") ORDERS(Cas, "gpu.atomic.cas_pass", D, "device")
    ORDERS(AddInt, "gpu.atomic.add", B, "block") ORDERS(AddInt, "gpu.atomic.add", S, "system")
    for (int threads : {32, 1024}) {
        row<ReleaseDevice>("primitive=gpu.atomic.add dtype=i32 scope=device order=release", threads, 1); row<ReleaseDevice, 8>("primitive=gpu.atomic.add dtype=i32 scope=device order=release", threads, 132);
        row<ReleaseBlock>("primitive=gpu.atomic.add dtype=i32 scope=block order=release", threads, 1); row<ReleaseSystem>("primitive=gpu.atomic.add dtype=i32 scope=system order=release", threads, 1);
    }
    grids<Add<int, D, cuda::memory_order_relaxed>>("primitive=gpu.atomic.add dtype=i32 scope=device order=relaxed form=library");
    grids<Add<int, D, cuda::memory_order_acq_rel>>("primitive=gpu.atomic.add dtype=i32 scope=device order=acq_rel form=library");
    grids<Add<float, D, cuda::memory_order_relaxed>>("primitive=gpu.atomic.add dtype=f32 scope=device order=relaxed form=library");
    grids<Add<float, D, cuda::memory_order_seq_cst>>("primitive=gpu.atomic.add dtype=f32 scope=device order=seq_cst form=library");
    grids<Add<int, S, cuda::memory_order_seq_cst>>("primitive=gpu.atomic.add dtype=i32 scope=system order=seq_cst form=library");
    grids<Half>("primitive=gpu.atomic.add_f16 layout=private"); grids<Half2>("primitive=gpu.atomic.add_f16x2 layout=private"); grids<Bf16>("primitive=gpu.atomic.add_bf16 layout=private"); grids<Bf162>("primitive=gpu.atomic.add_bf16x2 layout=private");
    for (int threads : {32, 1024}) { row<Half, 2>("primitive=gpu.atomic.add_f16 layout=shared", threads, 1, 1, 0); row<Half2, 2>("primitive=gpu.atomic.add_f16x2 layout=shared", threads, 1, 1, 0); }
    for (int threads : {32, 1024}) for (int blocks : {1, 132}) for (u32 bins : {18u, 256u}) {
        char name[200];
#define BIN(Op, dtype, space) snprintf(name, 200, "primitive=gpu.atomic.add dtype=" dtype " space=" space " group=bins_%u", bins); row<Op, 16>(name, threads, blocks, bins);
        BIN(GlobalBin<int>, "i32", "global") BIN(GlobalBin<float>, "f32", "global") BIN(SharedBin<int>, "i32", "shared") BIN(SharedBin<float>, "f32", "shared")
    }
    row<ThroughShared, 64>("primitive=gpu.shuffle.through_shared dtype=i32", 32, 1); row<ThroughShared, 64>("primitive=gpu.shuffle.through_shared dtype=i32", 1024, 1);
    FENCE_ROWS(Block, "gpu.fence.block") FENCE_ROWS(Device, "gpu.fence.device") FENCE_ROWS(System, "gpu.fence.system") FENCE_ROWS(Async, "gpu.fence.proxy_async") FENCE_ROWS(AsyncShared, "gpu.fence.proxy_async_shared") FENCE_ROWS(AsyncGlobal, "gpu.fence.proxy_async_global")
    for (int threads : {32, 1024}) {
        fence<DeviceByOne, Updates>("primitive=gpu.fence.device group=by_one", threads, 1); fence<DeviceByOne, Updates>("primitive=gpu.fence.device group=by_one", threads, 132); fence<SystemByOne, Updates>("primitive=gpu.fence.system group=by_one", threads, 1);
        fence<AsyncUpdates, Updates>("primitive=gpu.fence.proxy_async group=", threads, 1); fence<AsyncSharedUpdates, Updates>("primitive=gpu.fence.proxy_async_shared group=", threads, 1);
    }
    printf("# %s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
