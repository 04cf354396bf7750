// The cost of one more kernel, by form, length and memory traffic: the difference, divided by n, between n plain kernels that
// do their work twice, and n plain kernels and n of the form that do it once. Device time (events); a gate holds the device
// until the host has queued everything.
#include <cooperative_groups.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>
namespace cg = cooperative_groups;
static void check(cudaError_t e, const char *call, int line) { if (e != cudaSuccess) { printf("FAILED %d %s: %s\n", line, call, cudaGetErrorString(e)); exit(1); } }
#define CHECK(call) check((call), #call, __LINE__)
typedef unsigned u32; typedef unsigned long long u64;
struct Args { u32 *from, *to; u32 words; u32 passes; long cycles; };
enum Work { SPIN, LINE, SWEEP };
enum Code { PLAIN, WAIT, START, END };
__device__ u64 now() { u64 t; asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t)); return t; }
__device__ void spin(long cycles) { const long t = clock64(); while (clock64() - t < cycles) {} }
template <int WORK> __device__ void pass(const u32 *from, u32 *to, const Args &a) {
    if (WORK == SPIN) { spin(a.cycles); return; }
    const u32 *in = from + (blockIdx.x + 1) % gridDim.x * a.words; u32 *out = to + blockIdx.x * a.words;
    for (u32 i = threadIdx.x; i < a.words; i += 4 * blockDim.x) {
        u32 v[4];
#pragma unroll
        for (int k = 0; k < 4; k++) if (i + k * blockDim.x < a.words) v[k] = __ldcg(in + i + k * blockDim.x);
#pragma unroll
        for (int k = 0; k < 4; k++) if (i + k * blockDim.x < a.words) out[i + k * blockDim.x] = v[k] + 1;
    }
    if (WORK == LINE) spin(a.cycles);
}
template <int CODE, int WORK> __global__ void __launch_bounds__(1024, 2) step(Args a) {
    if (CODE == START) cudaTriggerProgrammaticLaunchCompletion();
    if (CODE != PLAIN) cudaGridDependencySynchronize();
    u32 *from = a.from, *to = a.to;
    for (u32 p = 0; p < a.passes; p++) { pass<WORK>(from, to, a); u32 *t = from; from = to; to = t; }
    if (CODE == END) cudaTriggerProgrammaticLaunchCompletion();
}
template <int WORK> __global__ void __launch_bounds__(1024, 2) fused(Args a) {
    u32 *from = a.from, *to = a.to;
    for (u32 p = 0; p < a.passes; p++) { pass<WORK>(from, to, a); u32 *t = from; from = to; to = t; cg::this_grid().sync(); }
}
__global__ void gate(volatile u32 *flag, u32 wanted) { const u64 t = now(); while (*flag < wanted && now() - t < 2000000000ull) {} }
typedef void (*Step)(Args);
#define ROW(W) {step<PLAIN, W>, step<WAIT, W>, step<START, W>, step<END, W>}
static Step steps[3][4] = {ROW(SPIN), ROW(LINE), ROW(SWEEP)}, fuseds[3] = {fused<SPIN>, fused<LINE>, fused<SWEEP>};
struct Form { const char *name; int code; bool attribute, graph, cooperative, within; };
static const Form forms[] = {{"stream", PLAIN}, {"cooperative", PLAIN, false, false, true}, {"graph", PLAIN, false, true}, {"programmatic", START, true}, {"programmatic_end", END, true},
    {"programmatic_wait", WAIT, true}, {"programmatic_attribute", PLAIN, true}, {"programmatic_graph", START, true, true}, {"programmatic_graph_wait", WAIT, true, true}, {"grid_sync", PLAIN, false, false, true, true}};
static cudaStream_t s; static u32 *flag, *flag_device, *arrays[2]; static u32 gates; static int blocks; static cudaEvent_t e0, e1;
struct Shape { int work; int us; int threads; u32 words; long cycles; };
static void launch(const Form &f, const Shape &c, int number, u32 passes) {
    Args a{arrays[number & 1], arrays[~number & 1], c.words, passes, c.cycles};
    cudaLaunchConfig_t g{}; g.gridDim = blocks, g.blockDim = c.threads, g.stream = s;
    cudaLaunchAttribute at{};
    if (f.attribute) at.id = cudaLaunchAttributeProgrammaticStreamSerialization, at.val.programmaticStreamSerializationAllowed = 1;
    if (f.cooperative) at.id = cudaLaunchAttributeCooperative, at.val.cooperative = 1;
    g.attrs = &at, g.numAttrs = f.attribute || f.cooperative;
    CHECK(cudaLaunchKernelEx(&g, f.within ? fuseds[c.work] : steps[c.work][f.code], a));
}
// Queues `queue`, as a graph or not, behind a gate, and times it.
template <typename Queue>
static double timed(bool graph, Queue queue) {
    cudaGraphExec_t x = nullptr;
    if (graph) {
        cudaGraph_t g;
        CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal)); queue();
        CHECK(cudaStreamEndCapture(s, &g)); CHECK(cudaGraphInstantiate(&x, g, 0)); CHECK(cudaGraphDestroy(g)); CHECK(cudaGraphUpload(x, s)); CHECK(cudaStreamSynchronize(s));
    }
    gate<<<1, 1, 0, s>>>(flag_device, ++gates); CHECK(cudaEventRecord(e0, s));
    if (x) CHECK(cudaGraphLaunch(x, s)); else queue();
    CHECK(cudaEventRecord(e1, s)); *(volatile u32 *)flag = gates; CHECK(cudaStreamSynchronize(s));
    if (x) cudaGraphExecDestroy(x);
    float ms; CHECK(cudaEventElapsedTime(&ms, e0, e1)); return ms * 1e6;
}
static double plain(const Shape &c, int n, u32 passes, bool graph) {
    return timed(graph, [&] { for (int i = 0; i < n; i++) launch(forms[0], c, i, passes); });
}
static double one_more(const Form &f, const Shape &c, int n) {
    const double twice = plain(c, n, 2, f.graph);
    const double once = timed(f.graph, [&] {
        for (int i = 0; i < n; i++) launch(forms[0], c, i, 1);
        if (f.within) launch(f, c, 0, n); else for (int i = 0; i < n; i++) launch(f, c, n + i, 1);
    });
    return (once - twice) / n;
}
static double median(std::vector<double> v) { std::sort(v.begin(), v.end()); return v[v.size() / 2]; }
int main() {
    cudaDeviceProp p; CHECK(cudaGetDeviceProperties(&p, 0)); blocks = p.multiProcessorCount;
    int khz; CHECK(cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, 0));
    CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking)); CHECK(cudaHostAlloc(&flag, 4, cudaHostAllocMapped)); *flag = 0; CHECK(cudaHostGetDevicePointer(&flag_device, flag, 0));
    const size_t bytes = 64 << 20;
    for (auto &a : arrays) { CHECK(cudaMalloc(&a, bytes)); CHECK(cudaMemset(a, 0, bytes)); }
    CHECK(cudaEventCreate(&e0)); CHECK(cudaEventCreate(&e1));
    const double per_us = khz / 1000.0;
    // The first stream that launches in a context and a later one have different levels; rows have either.
    cudaStream_t streams[2] = {s}; CHECK(cudaStreamCreateWithFlags(&streams[1], cudaStreamNonBlocking));
    for (int i = 0; i < 80; i++) s = streams[i / 40], plain({SPIN, 5, 32, 32, (long)(5 * per_us)}, 64, 1, false);
    printf("# %s, %d kHz\n", p.name, khz);
    std::vector<Shape> shapes = {{SPIN, 5, 32}, {SPIN, 20, 32}, {LINE, 5, 32}, {SWEEP, 5, 32}, {SWEEP, 20, 32}, {SPIN, 5, 1024}, {LINE, 5, 1024}, {SWEEP, 5, 1024}};
    for (Shape c : shapes) for (cudaStream_t stream : streams) {
        s = stream;
        c.words = 32, c.cycles = (long)(c.us * per_us);
        if (c.work == SWEEP) {
            const u32 most = (u32)(p.l2CacheSize / (4 * 2 * 4) / blocks) & ~31u;
            c.words = std::min(32u * c.threads, most);
            for (int i = 0; i < 3; i++) { const double each = (plain(c, 8, 16, false) - plain(c, 8, 8, false)) / 64; c.words = std::min(most, std::max(32u, (u32)(c.words * c.us * 1000.0 / each) & ~31u)); }
        }
        const char *group[] = {"", " line", " sweep"};
        // In turn, so that a drift affects all of them.
        std::vector<double> costs[10];
        for (int r = 0; r < 11; r++) for (int f = 0; f < 10; f++) { const double cost = one_more(forms[f], c, 64); if (r) costs[f].push_back(cost); }
        for (int f = 0; f < 10; f++) { std::sort(costs[f].begin(), costs[f].end()); printf("IND gpu.launch.%s,%d us%s,%d,%d,%.1f,%.1f,%.1f,%u words\n", forms[f].name, c.us, group[c.work], blocks, c.threads, median(costs[f]), costs[f][1], costs[f][8], c.words); }
        fflush(stdout);
    }
    return 0;
}
