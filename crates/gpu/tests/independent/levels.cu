// Which streams, contexts and graphs have which launch level: one more kernel in a chain of 64, as graph and as stream, with
// one thing changed at a time. Each mode runs in a separate process.
#include <cuda.h>
#include <cuda_runtime.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <time.h>
#include <vector>
#define OK(x) do { auto bad_ = x; if (bad_) { printf(" error %d line %d\n", (int)bad_, __LINE__); exit(1); } } while (0)
__device__ __forceinline__ void spin(long cycles) { const long t = clock64(); while (clock64() - t < cycles) {} }
__global__ void __launch_bounds__(1024, 2) step(unsigned parts, long cycles) { for (unsigned p = 0; p < parts; p++) spin(cycles); }
static double now() { timespec t; clock_gettime(CLOCK_MONOTONIC_RAW, &t); return t.tv_sec * 1e9 + t.tv_nsec; }
typedef cudaStream_t S;
static const int N = 64; static const long C = 5 * 1980;
static void queue(S s, bool test) { for (int i = 0; i < (test ? 2 * N : N); i++) step<<<132, 32, 0, s>>>(test ? 1 : 2, C); }
static cudaGraphExec_t made(S s, bool test) { cudaGraphExec_t x; cudaGraph_t g; OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal)); queue(s, test); OK(cudaStreamEndCapture(s, &g)); OK(cudaGraphInstantiate(&x, g, 0)); OK(cudaGraphDestroy(g)); OK(cudaGraphUpload(x, s)); OK(cudaStreamSynchronize(s)); return x; }
static double chain(S s, cudaGraphExec_t x, bool test) { const double b = now(); if (x) OK(cudaGraphLaunch(x, s)); else queue(s, test); while (cudaStreamQuery(s) == cudaErrorNotReady) {} return now() - b; }
static double median(std::vector<double> v) { std::sort(v.begin(), v.end()); return v[v.size() / 2]; }
static double level(S s, cudaGraphExec_t *x) { std::vector<double> v; for (int r = 0; r < 9; r++) { double a, b; if (r % 2) a = chain(s, x ? x[0] : 0, false), b = chain(s, x ? x[1] : 0, true); else b = chain(s, x ? x[1] : 0, true), a = chain(s, x ? x[0] : 0, false); if (r > 2) v.push_back((b - a) / N); } return median(v); }
static double graph(S s) { cudaGraphExec_t x[2] = {made(s, false), made(s, true)}; double l = level(s, x); for (auto g : x) OK(cudaGraphExecDestroy(g)); return l; }
static void both(const char *name, S s) { for (int k = 0; k < 2; k++) chain(s, 0, true); const double g = graph(s); printf(" %s %.0f/%.0f", name, g, level(s, 0)); fflush(stdout); }
static S made_stream(unsigned flags = cudaStreamNonBlocking, int priority = 0) { S s; OK(cudaStreamCreateWithPriority(&s, flags, priority)); return s; }
static void used(S s) { step<<<1, 1, 0, s>>>(1, 1); OK(cudaStreamSynchronize(s)); }
int main(int argc, char **argv) {
    const char o = argv[1][0]; char name[32]; std::vector<S> v;
    OK(cudaFree(0)); printf("%c:", o);
    if (o == 'a') { for (int i = 0; i < 40; i++) { v.push_back(made_stream()); sprintf(name, "s%d", i); both(name, v.back()); if (i % 8 == 7) both("first:", v[0]); } printf("\n   again:"); for (int i : {0, 1, 5, 8, 20, 39}) { sprintf(name, "s%d", i); both(name, v[i]); } }
    if (o == 'b') for (int i = 0; i < 24; i++) { S s = made_stream(); sprintf(name, "s%d", i); both(name, s); OK(cudaStreamDestroy(s)); }
    if (o == 'c') { for (int i = 0; i < 12; i++) v.push_back(made_stream()); for (int i : {11, 0, 6, 3, 9, 1}) { sprintf(name, "s%d", i); both(name, v[i]); } }
    if (o == 'd') { for (int i = 0; i < 12; i++) { v.push_back(made_stream()); used(v.back()); } for (int i : {0, 11, 6, 3, 9, 1}) { sprintf(name, "s%d", i); both(name, v[i]); } }
    if (o == 'e') { both("legacy", 0); both("per thread", cudaStreamPerThread); both("blocking", made_stream(cudaStreamDefault)); both("high", made_stream(cudaStreamNonBlocking, -5)); both("low", made_stream()); }
    if (o == 'f' || o == 'g') for (int i = 0; i < 12; i++) { // contexts, destroyed or kept
        CUcontext c; OK(cuCtxCreate(&c, nullptr, 0, 0)); S a = made_stream(), b = made_stream(); sprintf(name, "c%d", i); both(name, a); both("2nd", b);
        if (o == 'f') { OK(cudaStreamDestroy(a)); OK(cudaStreamDestroy(b)); OK(cuCtxDestroy(c)); } }
    if (o == 'h') for (int i = 0; i < 6; i++) { // contexts with many streams one behind the other
        CUcontext c; OK(cuCtxCreate(&c, nullptr, 0, 0)); S a = made_stream(); used(a); sprintf(name, "c%d", i); for (int k = 0; k < 16; k++) { S p = made_stream(), q = made_stream(); used(p); if (k % 5 == 0) both(name, p); OK(cudaStreamDestroy(p)); OK(cudaStreamDestroy(q)); } both("first", a); OK(cudaStreamDestroy(a)); OK(cuCtxDestroy(c)); }
    if (o == 'i') { S s = made_stream(); std::vector<cudaGraphExec_t> alive; both("none", s); for (int k = 0; k < 40; k++) { alive.push_back(made(s, k % 2)); if (k % 8 == 7) { sprintf(name, "%d graphs", k + 1); both(name, s); } } for (auto x : alive) cudaGraphExecDestroy(x); both("destroyed", s); }
    if (o == 'j') { S s = made_stream(); both("none", s); for (int k = 0; k < 4; k++) { void *p; OK(cudaHostAlloc(&p, 1 << 20, cudaHostAllocMapped)); both("host", s); OK(cudaMalloc(&p, 64 << 20)); OK(cudaMemset(p, 0, 64 << 20)); both("device", s); OK(cudaMallocManaged(&p, 4096)); both("managed", s); } both("new", made_stream()); }
    if (o == 'k') { S s = made_stream(); cudaGraphExec_t x[2] = {made(s, false), made(s, true)}; for (int k = 0; k < 30; k++) { printf(" %.0f", level(s, x)); } } // in time
    if (o == 'l') { // one graph on many streams; a graph of a fast stream on a slow one
        S s = made_stream(); cudaGraphExec_t x[2] = {made(s, false), made(s, true)}; printf(" own %.0f", level(s, x)); for (int i = 0; i < 16; i++) { S t = made_stream(); used(t); cudaGraphExec_t y[2] = {made(t, false), made(t, true)}; printf(" | s%d by graph of first %.0f, by own %.0f, own on first %.0f, first %.0f", i + 1, level(t, x), level(t, y), level(s, y), level(s, x)); } }
    printf("\n"); const cudaError_t end = cudaDeviceSynchronize(); if (end) printf("# %s\n", cudaGetErrorString(end));
}
