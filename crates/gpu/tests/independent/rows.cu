// Costs of GPU operations by a program that shares nothing with syncscope: loops of two lengths, the slope of the slowest
// warp's cycles, the median over addresses. One line per row: primitive, dtype, layout, stride, threads, blocks, space, mode,
// group, form, cycles of an operation where every thread does the same work, lowest and highest over addresses.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <type_traits>
#include <vector>

typedef unsigned u32;
typedef unsigned long long u64;

struct Thread {
    char *memory;
    u64 index, object;
    u32 value, one, lane, part, count;
    u32 address, parity;
    u32 *shared;
};

#define OP(NAME, ...) \
    struct NAME { __device__ __forceinline__ static void run(Thread &t) { __VA_ARGS__; } };
#define AT(T, STRIDE) ((T *)t.memory)[t.index * STRIDE]
#define MEET(TEST, KIND, PHASE)                                                                                      \
    u32 over;                                                                                                        \
    do asm volatile("{.reg .pred p; mbarrier.try_wait" TEST ".shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"       \
                    : "=r"(over) : "r"(t.address), KIND(PHASE) : "memory");                                          \
    while (!over)

OP(Nothing, )
OP(Sync, __syncthreads())
OP(Half, asm volatile("bar.sync %0, 512;" ::"r"(t.part) : "memory"))
OP(Count, t.value = __syncthreads_count(t.value))
OP(Token, u64 phase; asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(phase) : "r"(t.address) : "memory"); MEET("", "l", phase))
OP(Parity, asm volatile("{.reg .b64 p; mbarrier.arrive.shared.b64 p, [%0];}" ::"r"(t.address) : "memory"); MEET(".parity", "r", t.parity); t.parity ^= 1)
OP(Idx, t.value = __shfl_sync(~0u, t.value, t.lane))
OP(Down, t.value = __shfl_down_sync(~0u, t.value, 1))
OP(Xor, t.value = __shfl_xor_sync(~0u, t.value, 1))
OP(Any, asm volatile("{.reg .pred p, q; setp.ne.u32 p, %0, 0; vote.sync.any.pred q, p, 0xffffffff; selp.u32 %0, 1, 0, q;}" : "+r"(t.value)))
OP(Ballot, asm volatile("{.reg .pred p; setp.ne.u32 p, %0, 0; vote.sync.ballot.b32 %0, p, 0xffffffff;}" : "+r"(t.value)))
OP(Redux, asm volatile("redux.sync.add.u32 %0, %0, 0xffffffff;" : "+r"(t.value)))
OP(MatchAny, asm volatile("match.any.sync.b32 %0, %0, 0xffffffff;" : "+r"(t.value)))
OP(MatchAll, asm volatile("{.reg .pred p; match.all.sync.b32 %0|p, %0, 0xffffffff;}" : "+r"(t.value)))
template <typename T> OP(Add, atomicAdd(&AT(T, 1), (T)t.value))
template <typename T> OP(AddOne, atomicAdd((T *)t.memory + t.index * t.object, (T)t.value))
OP(AddVarying, atomicAdd((int *)t.memory, (int)t.value); t.value += t.object)
template <typename T> OP(Cas, atomicCAS(&AT(T, 1), (T)0, (T)0))
template <typename T> OP(CasOne, atomicCAS((T *)t.memory + t.index * t.object, (T)0, (T)0))
OP(Exchange, atomicExch(&AT(int, 1), (int)t.value))
OP(ExchangeOne, atomicExch((int *)t.memory + t.index * t.object, (int)t.value))
OP(SharedAdd, atomicAdd(t.shared + threadIdx.x, t.value))
OP(SharedXor, atomicXor(t.shared + threadIdx.x, t.value))
// The cost of a fence alone is the difference between two of these.
OP(Updates, AT(int, 1) += t.one; ((int *)t.memory)[t.index + t.count] += t.one)
OP(BlockFence, AT(int, 1) += t.one; __threadfence_block(); ((int *)t.memory)[t.index + t.count] += t.one)
OP(DeviceFence, AT(int, 1) += t.one; __threadfence(); ((int *)t.memory)[t.index + t.count] += t.one)

template <typename Op, int UNROLL>
__global__ void __launch_bounds__(1024, 2) loop(char *memory, u32 zero, u32 iterations, long long *out) {
    __shared__ u64 object;
    __shared__ u32 words[1024];
    Thread t{memory, blockIdx.x * blockDim.x + threadIdx.x, zero, threadIdx.x % 16, 1 + zero, (threadIdx.x + 1 + zero) % 32, 1 + threadIdx.x / 512, gridDim.x * blockDim.x, (u32)__cvta_generic_to_shared(&object), 0, words};
    words[threadIdx.x] = 0;
    if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(t.address), "r"(blockDim.x) : "memory");
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

static char *memory;
static long long *results;
static const size_t POOL = 1u << 30;

template <typename Op, int UNROLL>
static double slowest(int threads, int blocks, u32 iterations, size_t offset) {
    // Two blocks have room for their shared memory. Others keep the L1 cache they get: with the smallest L1, a CAS waits.
    if (std::is_same<Op, SharedAdd>::value || std::is_same<Op, SharedXor>::value)
        cudaFuncSetAttribute(loop<Op, UNROLL>, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared);
    loop<Op, UNROLL><<<blocks, threads>>>(memory + offset, 0, iterations, results);
    std::vector<long long> all(blocks * ((threads + 31) / 32));
    if (cudaMemcpy(all.data(), results, all.size() * 8, cudaMemcpyDeviceToHost)) { printf("error %s\n", cudaGetErrorString(cudaGetLastError())); exit(1); }
    return (double)*std::max_element(all.begin(), all.end());
}

template <typename Op, int UNROLL>
static std::vector<double> slopes(int threads, int blocks) {
    const size_t size = ((size_t)threads * blocks * 8 + (8 << 20) + 4095) / 4096 * 4096, places = POOL / size;
    double one = slowest<Op, UNROLL>(threads, blocks, 4, 0) / 4;
    const u32 n = (u32)std::min(3e6, std::max(4.0, 150e3 / one));
    std::vector<double> all;
    for (int place = 0; place < 25; place++) {
        // The place within a page matters too.
        const size_t offset = place * 40503u % places * size + place * 512;
        const double less = slowest<Op, UNROLL>(threads, blocks, n, offset), more = slowest<Op, UNROLL>(threads, blocks, 2 * n, offset);
        all.push_back((more - less) / n / UNROLL);
    }
    return all;
}

static void print(const char *row, std::vector<double> all) {
    std::sort(all.begin(), all.end());
    printf("%s,%.4f,%.4f,%.4f\n", row, all[all.size() / 2], all[1], all[all.size() - 2]);
    fflush(stdout);
}

template <typename Op, int UNROLL>
static void row(const char *name, int threads, int blocks, const char *rest = ",,") {
    char text[200];
    snprintf(text, sizeof text, "%s,%d,%d,%s", name, threads, blocks, rest);
    print(text, slopes<Op, UNROLL>(threads, blocks));
}

// A second loop with twice as many copies removes what is left of results that the compiler awaits at the end of an iteration.
template <typename Op, int UNROLL>
static void difference(const char *row, int threads, int blocks) {
    std::vector<double> few = slopes<Op, UNROLL>(threads, blocks), many = slopes<Op, 2 * UNROLL>(threads, blocks);
    for (size_t place = 0; place < few.size(); place++) few[place] = 2 * many[place] - few[place];
    print(row, few);
}

template <typename Op>
static void fence(const char *name, int threads) {
    std::vector<double> with = slopes<Op, 64>(threads, 1), without = slopes<Updates, 64>(threads, 1);
    for (size_t place = 0; place < with.size(); place++) with[place] -= without[place];
    char text[200];
    snprintf(text, sizeof text, "%s,i32,private,1,%d,1,,throughput,,", name, threads);
    print(text, with);
}

int main() {
    cudaMalloc(&memory, POOL + (64 << 20));
    cudaMemset(memory, 0, POOL + (64 << 20));
    cudaMalloc(&results, 8 * 33 * 1024 * 8);
    const char *latency = ",latency,,", *parity = ",latency,,parity", *device = "global,throughput,,";
    for (int threads : {32, 256, 1024}) row<Sync, 64>("gpu.block.syncthreads,,,", threads, 1, latency);
    row<Sync, 64>("gpu.block.syncthreads,,,", 1024, 132, latency);
    for (int threads : {32, 1024}) {
        row<Token, 64>("gpu.block.mbarrier,,,", threads, 1, latency);
        row<Parity, 64>("gpu.block.mbarrier,,,", threads, 1, parity);
        row<Count, 64>("gpu.block.syncthreads_count,,,", threads, 1, latency);
        row<Idx, 64>("gpu.shuffle.idx,i32,,", threads, 1, latency);
        row<Down, 64>("gpu.shuffle.down,i32,,", threads, 1, latency);
        row<Any, 256>("gpu.vote.any,,,", threads, 1, latency);
        row<Ballot, 64>("gpu.vote.ballot,,,", threads, 1, latency);
        row<Redux, 64>("gpu.reduce.add,u32,,", threads, 1, latency);
        row<MatchAny, 64>("gpu.match.any,i32,,", threads, 1, latency);
        row<MatchAll, 64>("gpu.match.all,i32,,", threads, 1, latency);
        row<Add<int>, 256>("gpu.atomic.add,i32,private,1", threads, 1, device);
        row<Add<float>, 256>("gpu.atomic.add,f32,private,1", threads, 1, device);
        row<AddOne<int>, 64>("gpu.atomic.add,i32,shared,", threads, 1, "global,throughput,,not_aggregated");
        row<AddOne<float>, 64>("gpu.atomic.add,f32,shared,", threads, 132, device);
        row<Add<float>, 64>("gpu.atomic.add,f32,private,1", threads, 132, device);
        row<Add<int>, 64>("gpu.atomic.add,i32,private,1", threads, 132, device);
        row<Add<u64>, 64>("gpu.atomic.add,u64,private,1", threads, 132, device);
        fence<BlockFence>("gpu.fence.block", threads);
        fence<DeviceFence>("gpu.fence.device", threads);
    }
    row<Half, 64>("gpu.block.named_barrier,,,", 1024, 1, ",latency,parts 2,");
    row<Xor, 64>("gpu.shuffle.xor,i32,,", 1024, 1, latency);
    row<Cas<int>, 256>("gpu.atomic.cas_pass,i32,private,1", 1024, 1, device);
    row<Exchange, 256>("gpu.atomic.exchange,i32,private,1", 1024, 1, device);
    difference<CasOne<int>, 32>("gpu.atomic.cas_pass,i32,shared,,32,1,global,throughput,,", 32, 1);
    row<ExchangeOne, 256>("gpu.atomic.exchange,i32,shared,", 32, 132, device);
    row<AddOne<u64>, 16>("gpu.atomic.add,u64,shared,", 1024, 132, device);
    row<AddVarying, 64>("gpu.atomic.add,i32,shared,", 32, 1, "global,throughput,,varying");
    for (int blocks : {132, 264}) {
        for (int threads : {256, 1024}) {
            row<SharedAdd, 256>("gpu.atomic.add,u32,private,1", threads, blocks, "shared,throughput,,");
            row<SharedXor, 256>("gpu.atomic.xor,u32,private,1", threads, blocks, "shared,throughput,,");
        }
    }
    printf("# %s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
