// Jacobi's method for a rod whose ends have fixed temperatures, on a GPU: each sweep reads what the sweep before has
// written, so all blocks meet after each.
//
//   jacobi threads=1024 cells=16384 sweeps=1000 rounds=7
//
// `cells` are those of a block; there is one block for each multiprocessor. `grid` is one kernel that stays and has a
// grid barrier in each sweep. The others launch a kernel for each sweep: in a `stream`; in a `graph`; with programmatic
// launch, where each kernel waits for the one before (`wait`) and may let the next one begin at once (`early`). Without
// synchronization (`none`) one kernel stays and each block keeps to its part, as if the part had fixed ends. `twice`
// passes each grid barrier twice: what the second one adds is a barrier at which all arrive together. `fenced` is
// `none` with a fence in each sweep: it begins with an empty first-level cache, as after a barrier.
//
// What the rows of a run predict for a sweep: the row of kernels that sweep memory, without what it takes to begin a
// sweep once more, which the rows of `grid_sync` tell apart: sweeps have their length here with and without
// synchronization. A kernel that ends before the CPU has launched the next one (`alone` is the time without
// synchronization) waits for it. Rows of kernels that touch no memory have another order.
//
// build: nvcc -O3 -std=c++17
// rows: --preset standard --only gpu.launch.stream,gpu.launch.graph,gpu.launch.programmatic,gpu.launch.programmatic_wait,gpu.launch.grid_sync,gpu.grid.cooperative --threads 1024 --blocks multiprocessors
// conditions: threads=1024 cells=8192,16384,32768,65536
// let restart = gpu.launch.grid_sync[threads=threads group="5 us sweep"] - gpu.launch.grid_sync[threads=threads group="5 us"]
// predict grid = gpu.launch.grid_sync[threads=threads group="5 us sweep"] - restart
// predict stream = max(gpu.launch.stream[threads=threads group="5 us sweep"] - restart, gpu.launch.stream[threads=threads group=empty] - alone)
// predict graph = gpu.launch.graph[threads=threads group="5 us sweep"] - restart
// predict early = max(gpu.launch.programmatic[threads=threads group="5 us sweep"] - restart, gpu.launch.programmatic[threads=threads group=empty] - alone)
// predict wait = max(gpu.launch.programmatic_wait[threads=threads group="5 us sweep"] - restart, gpu.launch.programmatic[threads=threads group=empty] - alone)
// experiment twice - grid = gpu.grid.cooperative[threads=threads blocks=multiprocessors]
// experiment grid - fenced = gpu.grid.cooperative[threads=threads blocks=multiprocessors]
// contrast grid = gpu.launch.grid_sync[threads=threads group="5 us"]
// contrast stream = gpu.launch.stream[threads=threads group="5 us"]
// contrast graph = gpu.launch.graph[threads=threads group="5 us"]
// contrast early = gpu.launch.programmatic[threads=threads group="5 us"]
// contrast wait = gpu.launch.programmatic_wait[threads=threads group="5 us"]
#include <cooperative_groups.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

static void check(cudaError_t error, const char *what) {
    if (error == cudaSuccess) return;
    fprintf(stderr, "jacobi: %s: %s\n", what, cudaGetErrorString(error));
    exit(1);
}
#define CHECK(call) check(call, #call)

// The cells of a block, without the two ends of the rod and without `ends` more cells on each side.
struct Part {
    long first, end;
    __host__ __device__ Part(long block, long blocks, long cells, long ends)
        : first((block == 0 ? 1 : block * cells) + ends),
          end((block + 1) * cells - (block == blocks - 1 ? 1 : 0) - ends) {}
};

__device__ void sweep(const float *in, float *out, Part part) {
    for (long cell = part.first + threadIdx.x; cell < part.end; cell += blockDim.x)
        out[cell] = 0.5f * (in[cell - 1] + in[cell + 1]);
}

// One kernel for all sweeps. Within a block threads meet in any case.
template <int barriers, bool fences = false>
__global__ void all_sweeps(float *even, float *odd, long cells, long sweeps) {
    const Part part(blockIdx.x, gridDim.x, cells, barriers ? 0 : 1);
    for (long turn = 0; turn < sweeps; turn++) {
        sweep(turn % 2 ? odd : even, turn % 2 ? even : odd, part);
        if constexpr (barriers == 0) __syncthreads();
        if constexpr (fences) {
            if (threadIdx.x == 0) __threadfence();
            __syncthreads();
        }
        for (int barrier = 0; barrier < barriers; barrier++) cooperative_groups::this_grid().sync();
    }
}

// One kernel for each sweep.
template <bool triggers, bool waits>
__global__ void one_sweep(const float *in, float *out, long cells) {
    if constexpr (triggers) cudaTriggerProgrammaticLaunchCompletion();
    if constexpr (waits) cudaGridDependencySynchronize();
    sweep(in, out, Part(blockIdx.x, gridDim.x, cells, 0));
}

struct Rod {
    long threads, cells, sweeps, blocks;
    float *cell[2];
    cudaStream_t stream;
    cudaGraphExec_t graph;

    void stay(void (*kernel)(float *, float *, long, long)) {
        void *arguments[] = {&cell[0], &cell[1], &cells, &sweeps};
        CHECK(cudaLaunchCooperativeKernel((void *)kernel, dim3(blocks), dim3(threads), arguments, 0, stream));
    }

    void launch(void (*kernel)(const float *, float *, long), bool is_programmatic) {
        cudaLaunchAttribute attribute = {};
        attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
        attribute.val.programmaticStreamSerializationAllowed = 1;
        cudaLaunchConfig_t config = {};
        config.gridDim = dim3(blocks);
        config.blockDim = dim3(threads);
        config.stream = stream;
        config.attrs = &attribute;
        config.numAttrs = is_programmatic ? 1 : 0;
        for (long turn = 0; turn < sweeps; turn++) {
            const float *in = cell[turn % 2];
            float *out = cell[1 - turn % 2];
            void *arguments[] = {&in, &out, &cells};
            CHECK(cudaLaunchKernelExC(&config, (const void *)kernel, arguments));
        }
    }

    void record() {
        cudaGraph_t recorded;
        CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        launch(one_sweep<false, false>, false);
        CHECK(cudaStreamEndCapture(stream, &recorded));
        CHECK(cudaGraphInstantiate(&graph, recorded, 0));
        CHECK(cudaGraphDestroy(recorded));
    }

    void run(const std::string &variant) {
        if (variant == "none") stay(all_sweeps<0>);
        if (variant == "grid") stay(all_sweeps<1>);
        if (variant == "twice") stay(all_sweeps<2>);
        if (variant == "fenced") stay(all_sweeps<0, true>);
        if (variant == "stream") launch(one_sweep<false, false>, false);
        if (variant == "graph") CHECK(cudaGraphLaunch(graph, stream));
        if (variant == "early") launch(one_sweep<true, true>, true);
        if (variant == "wait") launch(one_sweep<false, true>, true);
        CHECK(cudaStreamSynchronize(stream));
    }
};

static std::vector<float> first_temperatures(long cells) {
    std::vector<float> rod(cells);
    for (long at = 0; at < cells; at++) rod[at] = float(at * 37 % 101);
    return rod;
}

// What one thread computes; alone, the cells at the ends of each block's part are fixed.
static std::vector<float> expected(long blocks, long cells, long sweeps, bool alone) {
    std::vector<float> rod[2] = {first_temperatures(blocks * cells), first_temperatures(blocks * cells)};
    for (long turn = 0; turn < sweeps; turn++)
        for (long block = 0; block < blocks; block++) {
            const Part part(block, blocks, cells, alone ? 1 : 0);
            const float *in = rod[turn % 2].data();
            float *out = rod[1 - turn % 2].data();
            for (long cell = part.first; cell < part.end; cell++) out[cell] = 0.5f * (in[cell - 1] + in[cell + 1]);
        }
    return rod[sweeps % 2];
}

static long option(int count, char **arguments, const char *name, long fallback) {
    const size_t length = strlen(name);
    for (int at = 1; at < count; at++)
        if (!strncmp(arguments[at], name, length) && arguments[at][length] == '=')
            return atol(arguments[at] + length + 1);
    return fallback;
}

int main(int count, char **arguments) {
    Rod rod = {};
    rod.threads = option(count, arguments, "threads", 1024);
    rod.cells = option(count, arguments, "cells", 16384);
    const long sweeps = option(count, arguments, "sweeps", 1000);
    const long rounds = option(count, arguments, "rounds", 7);
    constexpr int ALL = 8;
    const int variants = int(option(count, arguments, "variants", ALL));
    if (rod.threads < 1 || rod.threads > 1024 || rod.cells < 4 || sweeps < 1 || variants < 1 || variants > ALL) {
        fprintf(stderr, "jacobi: 1 to 1024 threads, 4 cells or more, 1 sweep or more, 1 to 8 variants\n");
        return 2;
    }
    int processors;
    CHECK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0));
    rod.blocks = processors;
    const long all = rod.blocks * rod.cells;
    for (float *&cells : rod.cell) CHECK(cudaMalloc(&cells, all * sizeof(float)));
    CHECK(cudaStreamCreate(&rod.stream));
    const std::vector<float> first = first_temperatures(all);
    const char *const names[ALL] = {"none", "grid", "stream", "graph", "early", "wait", "twice", "fenced"};

    // A few sweeps for the results, all of them for the times.
    const long tried = sweeps < 10 ? sweeps : 10;
    const std::vector<float> alone = expected(rod.blocks, rod.cells, tried, true);
    const std::vector<float> together = expected(rod.blocks, rod.cells, tried, false);
    bool right[ALL];
    for (int at = 0; at < variants; at++) {
        rod.sweeps = tried;
        if (!at) rod.record();
        for (float *cells : rod.cell)
            CHECK(cudaMemcpy(cells, first.data(), all * sizeof(float), cudaMemcpyHostToDevice));
        rod.run(names[at]);
        std::vector<float> found(all);
        CHECK(cudaMemcpy(found.data(), rod.cell[tried % 2], all * sizeof(float), cudaMemcpyDeviceToHost));
        right[at] = found == (at && at < ALL - 1 ? together : alone);
    }
    CHECK(cudaGraphExecDestroy(rod.graph));
    rod.sweeps = sweeps;
    rod.record();
    puts("round,variant,synchronizations,ns,right");
    for (long round = 0; round < rounds; round++)
        for (int at = 0; at < variants; at++) {
            const auto start = std::chrono::steady_clock::now();
            rod.run(names[at]);
            const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - start;
            printf("%ld,%s,%ld,%lld,%s\n", round, names[at], sweeps, (long long)took.count(), right[at] ? "yes" : "no");
        }
    return 0;
}
