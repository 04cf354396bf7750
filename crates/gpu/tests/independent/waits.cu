// How the host waits for a kernel, by a program that shares nothing with syncscope: pairs of n kernels of twice the length and
// 2 n kernels, each waited for. Prints nanoseconds of one more kernel and wait (median), and the share of a CPU that all
// threads take.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cuda.h>
#include <sys/resource.h>
#include <time.h>
#include <vector>
#define OK(x) do { cudaError_t bad_ = x; if (bad_) { printf("# error %s line %d\n", cudaGetErrorString(bad_), __LINE__); exit(1); } } while (0)
__global__ void spin(long long cycles) { const long long start = clock64(); while (clock64() - start < cycles) {} }
static double now() { timespec t; clock_gettime(CLOCK_MONOTONIC_RAW, &t); return t.tv_sec * 1e9 + t.tv_nsec; }
static double busy() { timespec t; clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); return t.tv_sec * 1e9 + t.tv_nsec; }
static std::atomic<unsigned> calls{0};
static void called(void *) { calls.fetch_add(1); }
static cudaStream_t stream; static cudaEvent_t plain, blocking; static volatile unsigned *word; static CUdeviceptr word_there; static unsigned turn = 0;
typedef void (*Wait)();
static void sync() { OK(cudaStreamSynchronize(stream)); }
static void block_event() { OK(cudaEventRecord(blocking, stream)); OK(cudaEventSynchronize(blocking)); }
static void ask_stream() { while (cudaStreamQuery(stream) == cudaErrorNotReady) {} }
static void ask_event() { OK(cudaEventRecord(plain, stream)); while (cudaEventQuery(plain) == cudaErrorNotReady) {} }
static void ask_word() { turn++; cuStreamWriteValue32(stream, word_there, turn, 0); while (*word != turn) {} }
static void function() { const unsigned before = calls; OK(cudaLaunchHostFunc(stream, called, nullptr)); while (calls == before) {} }
static double chain(int n, long long cycles, Wait wait) { const double s = now(); for (int i = 0; i < n; i++) { spin<<<132, 32, 0, stream>>>(cycles); wait(); } return now() - s; }
int main(int argc, char **argv) {
    const int policy = argc > 1 ? atoi(argv[1]) : 0;  // 1 spin, 2 yield, 4 block
    OK(cudaSetDeviceFlags(policy | cudaDeviceMapHost)); OK(cudaFree(0)); OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaEventCreateWithFlags(&plain, cudaEventDisableTiming)); OK(cudaEventCreateWithFlags(&blocking, cudaEventDisableTiming | cudaEventBlockingSync));
    OK(cudaHostAlloc((void **)&word, 64, cudaHostAllocMapped)); *word = 0; void *there; OK(cudaHostGetDevicePointer(&there, (void *)word, 0)); word_there = (CUdeviceptr)there;
    spin<<<1, 1, 0, stream>>>(20000000); sync(); double s = now(); spin<<<1, 1, 0, stream>>>(100000000); sync(); const double ghz = 1e8 / (now() - s);
    struct Way { const char *name; Wait wait; bool always; } ways[] = {
        {policy == 1 ? "gpu.launch.sync_spin" : policy == 2 ? "gpu.launch.sync_yield" : policy == 4 ? "gpu.launch.sync_block" : "gpu.launch.stream_sync", sync, true},
        {"gpu.launch.event_block", block_event, false}, {"gpu.launch.ask_stream", ask_stream, false}, {"gpu.launch.ask_event", ask_event, false}, {"gpu.launch.ask_word", ask_word, false}, {"gpu.launch.host_function", function, false}};
    for (Way way : ways) for (int us : {5, 50}) {
        if (!way.always && policy != 0) continue;
        const long long cycles = (long long)(us * 1000 * ghz); std::vector<double> v; double b = 0, t = 0; const int n = us == 5 ? 40 : 20;
        for (int k = 0; k < 24; k++) { const double b0 = busy(), t0 = now(); const double one = chain(n, 2 * cycles, way.wait), two = chain(2 * n, cycles, way.wait); if (k > 2) { v.push_back((two - one) / n); b += busy() - b0; t += now() - t0; } }
        std::sort(v.begin(), v.end());
        printf("primitive=%s group=%d_us blocks=132 threads=32 ns=%.0f limit=0.1\n# %s %d us: %.0f to %.0f, CPU share %.2f\n", way.name, us, v[v.size() / 2], way.name, us, v[2], v[v.size() - 3], b / t); fflush(stdout);
    }
}
