// A histogram of 256 bins on a GPU, of bytes that each thread reads four at a time.
//
//   histogram threads=1024 data=1 rounds=7
//
// `data` is 0 for bytes that count up from thread to thread, 1 for random ones, 2 for equal ones, 3 for bytes that are
// 8 further from thread to thread. `global` adds each byte to a bin in global memory, `shared` to a bin of the block,
// whose bins are added up at the end, `aggregated` finds the lanes of a warp with the same byte, of which one adds for
// all. Without synchronization (`none`) each thread only adds up its bytes.
//
// What the rows of a run predict for a byte of each thread: additions whose result nobody needs go on their way while
// the thread reads on. So the slowest of reading (`alone`, the time without synchronization), matching and adding
// counts. Bins of the block: of 32 random lanes 3.53 meet in the busiest of 32 banks (balls into bins), each of which
// serves one at a time; an addition of one is an instruction that counts the lanes of equal bins. Bins in global
// memory: the second-level cache serves sectors of 32 bytes, 8 bins. A warp of the row touches 4 of these; of bytes
// that count up, which begin at any bin, 4.875; of random ones 20.4 of 32; of those 8 apart 32.
//
// build: nvcc -O3 -std=c++17
// rows: --preset standard --only gpu.atomic.add,gpu.match.any --dtype i32 --threads 1024 --blocks multiprocessors
// conditions: threads=1024 data=0,1,2,3
// let bins = gpu.atomic.add[threads=threads blocks=multiprocessors dtype=i32 space=global mode=throughput group="bins 256"]
// let bins_of_block = gpu.atomic.add[threads=threads blocks=multiprocessors dtype=i32 space=shared mode=throughput group="bins 256"]
// let one_bin = gpu.atomic.add[threads=threads blocks=multiprocessors dtype=i32 layout=shared space=global scope=device order=relaxed mode=throughput form=not_aggregated]
// let one_bin_of_block = gpu.atomic.add[threads=threads blocks=multiprocessors dtype=i32 layout=shared space=shared mode=throughput form=constant]
// let one_lane = gpu.atomic.add[threads=threads blocks=multiprocessors dtype=i32 layout=shared space=global scope=device order=relaxed mode=throughput]
// let in_sectors = (4.875 if data == 0 else 20.4 if data == 1 else 32) / 4 * bins
// let match = gpu.match.any[threads=threads blocks=multiprocessors dtype=i32 mode=throughput]
// predict global = max(alone, one_bin if data == 2 else in_sectors) - alone
// predict shared = max(alone, one_bin_of_block if data == 2 else (3.53 if data == 1 else 8 if data == 3 else 1) * bins_of_block) - alone
// predict aggregated = max(alone, match, one_lane if data == 2 else in_sectors) - alone
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

static void check(cudaError_t error, const char *what) {
    if (error == cudaSuccess) return;
    fprintf(stderr, "histogram: %s: %s\n", what, cudaGetErrorString(error));
    exit(1);
}
#define CHECK(call) check(call, #call)

constexpr int BINS = 256, WORDS = 16;
enum Kind { NONE, GLOBAL, SHARED, AGGREGATED };
constexpr const char *NAMES[] = {"none", "global", "shared", "aggregated"};

template <Kind kind>
__device__ __forceinline__ void count(unsigned byte, unsigned *bins, unsigned *own, unsigned &sum) {
    if constexpr (kind == NONE) sum += byte;
    if constexpr (kind == GLOBAL) atomicAdd(&bins[byte], 1);
    if constexpr (kind == SHARED) atomicAdd(&own[byte], 1);
    if constexpr (kind == AGGREGATED) {
        const unsigned same = __match_any_sync(~0u, byte);
        if (threadIdx.x % 32 + 1 == unsigned(__ffs(same))) atomicAdd(&bins[byte], __popc(same));
    }
}

// Each thread counts its words `passes` times. `none` leaves the sum of the bytes in the first bin.
template <Kind kind>
__global__ void histogram(const unsigned *words, unsigned *bins, long passes) {
    __shared__ unsigned own[BINS];
    for (int bin = threadIdx.x; bin < BINS; bin += blockDim.x) own[bin] = 0;
    __syncthreads();
    const unsigned *mine = words + blockIdx.x * blockDim.x * WORDS + threadIdx.x;
    unsigned sum = 0;
    for (long pass = 0; pass < passes; pass++)
#pragma unroll 4
        for (int word = 0; word < WORDS; word++) {
            const unsigned four = *(volatile const unsigned *)(mine + word * blockDim.x);
            for (int byte = 0; byte < 4; byte++) count<kind>(four >> 8 * byte & 255, bins, own, sum);
        }
    if constexpr (kind == NONE) atomicAdd(&own[0], sum);
    __syncthreads();
    if constexpr (kind == NONE || kind == SHARED)
        for (int bin = threadIdx.x; bin < BINS; bin += blockDim.x) atomicAdd(&bins[bin], own[bin]);
}

using Kernel = void (*)(const unsigned *, unsigned *, long);
constexpr Kernel KERNELS[] = {histogram<NONE>, histogram<GLOBAL>, histogram<SHARED>, histogram<AGGREGATED>};

struct Counts {
    long threads, blocks;
    unsigned *words, *bins;

    // In ns, from an idle device to an idle device.
    long long run(int kind, long passes) {
        CHECK(cudaMemset(bins, 0, BINS * sizeof *bins));
        CHECK(cudaDeviceSynchronize());
        const auto start = std::chrono::steady_clock::now();
        KERNELS[kind]<<<blocks, threads>>>(words, bins, passes);
        CHECK(cudaGetLastError());
        CHECK(cudaDeviceSynchronize());
        return std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count();
    }

    bool is_right(int kind, long passes, const std::vector<unsigned> &once) {
        std::vector<unsigned> found(BINS);
        CHECK(cudaMemcpy(found.data(), bins, BINS * sizeof *bins, cudaMemcpyDeviceToHost));
        std::vector<unsigned> expected(BINS);
        for (unsigned bin = 0; bin < BINS; bin++) {
            if (kind == NONE)
                expected[0] += once[bin] * bin * unsigned(passes);
            else
                expected[bin] = once[bin] * unsigned(passes);
        }
        return found == expected;
    }
};

static unsigned byte_of(long data, long thread, long at) {
    if (data == 0) return unsigned(thread + at) & 255;
    if (data == 2) return 77;
    if (data == 3) return unsigned(thread * 8 + thread / 32 + at) & 255;
    uint64_t state = uint64_t(thread * 4 * WORDS + at) * 0x9e3779b97f4a7c15ull;
    state = (state ^ state >> 31) * 0xbf58476d1ce4e5b9ull;
    return unsigned(state >> 40) & 255;
}

static long option(int count, char **arguments, const char *name, long fallback) {
    const size_t length = strlen(name);
    for (int at = 1; at < count; at++)
        if (!strncmp(arguments[at], name, length) && arguments[at][length] == '=')
            return atol(arguments[at] + length + 1);
    return fallback;
}

int main(int count, char **arguments) {
    Counts counts = {};
    counts.threads = option(count, arguments, "threads", 1024);
    const long data = option(count, arguments, "data", 1), rounds = option(count, arguments, "rounds", 7);
    // Time that a variant takes at least, so that the launch does not count.
    const long least_us = option(count, arguments, "least", 4000);
    const int variants = int(option(count, arguments, "variants", 4));
    if (counts.threads < 32 || counts.threads > 1024 || counts.threads % 32 || data < 0 || data > 3 || variants < 1 ||
        variants > 4) {
        fprintf(stderr, "histogram: 32, 64 ... 1024 threads, data 0 to 3, 1 to 4 variants\n");
        return 2;
    }
    int processors;
    CHECK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0));
    counts.blocks = processors;
    const long threads = counts.blocks * counts.threads;
    std::vector<unsigned> words(threads * WORDS), once(BINS);
    for (long block = 0; block < counts.blocks; block++)
        for (long word = 0; word < WORDS; word++)
            for (long thread = 0; thread < counts.threads; thread++)
                for (int byte = 0; byte < 4; byte++) {
                    const unsigned value = byte_of(data, block * counts.threads + thread, word * 4 + byte);
                    words[(block * WORDS + word) * counts.threads + thread] |= value << 8 * byte;
                    once[value]++;
                }
    CHECK(cudaMalloc(&counts.words, words.size() * sizeof(unsigned)));
    CHECK(cudaMalloc(&counts.bins, BINS * sizeof(unsigned)));
    CHECK(cudaMemcpy(counts.words, words.data(), words.size() * sizeof(unsigned), cudaMemcpyHostToDevice));

    long passes[4] = {1, 1, 1, 1};
    for (int kind = 0; kind < variants; kind++) {
        counts.run(kind, 1);
        while (counts.run(kind, passes[kind]) < least_us * 1000 && passes[kind] < 1 << 20) passes[kind] *= 2;
    }
    puts("round,variant,synchronizations,ns,right");
    for (long round = 0; round < rounds; round++)
        for (int kind = 0; kind < variants; kind++) {
            const long long ns = counts.run(kind, passes[kind]);
            const bool right = counts.is_right(kind, passes[kind], once);
            printf("%ld,%s,%ld,%lld,%s\n", round, NAMES[kind], passes[kind] * 4 * WORDS, ns, right ? "yes" : "no");
        }
    return 0;
}
