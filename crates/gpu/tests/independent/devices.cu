// Two devices, by a program that shares nothing with syncscope: an exchange of a few bytes with data and turn in one store, the
// same exchange with a flag that releases the data, and the cost of a system-wide fence by the code around it. Rows as
// key=value pairs, in cycles of device 0: the mean over places in memory, as in a row (each place has its own cost). The rest
// are experiments.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>
typedef unsigned u32;
typedef unsigned long long u64;
#define OK(x) do { cudaError_t bad_ = x; if (bad_) { printf("# error %s line %d\n", cudaGetErrorString(bad_), __LINE__); exit(1); } } while (0)
constexpr int PLACES = 61;
struct Packet { u64 data, turn; };
template <bool PACKED> __global__ void exchange(Packet *mine, Packet *theirs, u32 lanes, u64 first, u64 turns, long long *out, u32 *bad) {
    const u32 lane = threadIdx.x; u32 wrong = 0;
    long long start = clock64();
    // The other lanes wait for the data, as in a program.
    if (!PACKED || lane < lanes) for (u64 turn = first; turn < first + turns; turn++) {
        if (turn == first + 16) start = clock64();
        Packet *to = theirs + turn % 2 * 32, *from = mine + turn % 2 * 32; u64 data, found; const u64 said = turn * 1000 + lane;
        if (PACKED) {
            asm volatile("{.reg .b128 b; mov.b128 b, {%1, %2}; st.relaxed.sys.b128 [%0], b;}" ::"l"(to + lane), "l"(said), "l"(turn) : "memory");
            do asm volatile("{.reg .b128 b; ld.relaxed.sys.b128 b, [%2]; mov.b128 {%0, %1}, b;}" : "=l"(data), "=l"(found) : "l"(from + lane) : "memory"); while (found != turn);
        } else {
            if (lane < lanes) to[lane].data = said;
            __syncwarp();
            if (lane == 0) {
                asm volatile("st.release.sys.u64 [%0], %1;" ::"l"(&to->turn), "l"(turn) : "memory");
                do asm volatile("ld.acquire.sys.u64 %0, [%1];" : "=l"(found) : "l"(&from->turn) : "memory"); while (found != turn);
            }
            __syncwarp();
            data = lane < lanes ? *(volatile u64 *)&from[lane].data : said;
        }
        wrong |= data != said;
    }
    if (lane == 0) *out = clock64() - start;
    if (wrong) atomicAdd(bad, 1);
    __syncthreads();
}
enum Before { NOTHING, OWN, PEER, HOST, OWN_MANY };
template <int SCOPE, Before B> __global__ void fences(u32 *own, u32 *other, u32 times, long long *out) {
    const long long start = clock64();
    for (u32 k = 0; k < times; k++) {
        if (B == OWN) asm volatile("st.global.u32 [%0], %1;" ::"l"(own + threadIdx.x), "r"(k) : "memory");
        if (B == PEER || B == HOST) asm volatile("st.global.u32 [%0], %1;" ::"l"(other + threadIdx.x), "r"(k) : "memory");
        if (B == OWN_MANY) for (int i = 0; i < 8; i++) asm volatile("st.global.u32 [%0], %1;" ::"l"(own + 4096 * i + threadIdx.x), "r"(k) : "memory");
        if (SCOPE == 0) asm volatile("fence.acq_rel.gpu;" ::: "memory");
        if (SCOPE == 1) asm volatile("fence.acq_rel.sys;" ::: "memory");
        if (SCOPE == 2) asm volatile("fence.sc.sys;" ::: "memory");
    }
    if (threadIdx.x == 0) *out = clock64() - start;
}
static long long *out[2]; static u32 *bad[2]; static char *memory[2]; static cudaStream_t streams[2]; static double hertz[2];
static double cycles_of(int d) { long long c; OK(cudaSetDevice(d)); OK(cudaMemcpy(&c, out[d], 8, cudaMemcpyDeviceToHost)); return (double)c; }
__global__ void spin(long long n, long long *o) { const long long s = clock64(); u64 a, b; asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(a)); while (clock64() - s < n) {} asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(b)); *o = (long long)(b - a); }
template <int SCOPE, Before B> static double fence(u32 *other) {
    double t[2];
    for (int r = 0; r < 2; r++) { const u32 n = r ? 400 : 200; t[r] = 1e30; for (int k = 0; k < 7; k++) { fences<SCOPE, B><<<1, 32, 0, streams[0]>>>((u32 *)memory[0], other, n, out[0]); OK(cudaStreamSynchronize(streams[0])); t[r] = std::min(t[r], cycles_of(0)); } }
    return (t[1] - t[0]) / 200 / hertz[0];
}
static void fences_now(const char *state, u32 *peer, u32 *host) {
    printf("fences, ns, %-44s nothing: gpu %5.0f sys %5.0f sc.sys %5.0f | own store: gpu %5.0f sys %5.0f | eight own: sys %5.0f | host store: sys %5.0f", state,
           (fence<0, NOTHING>(nullptr)), (fence<1, NOTHING>(nullptr)), (fence<2, NOTHING>(nullptr)), (fence<0, OWN>(nullptr)), (fence<1, OWN>(nullptr)), (fence<1, OWN_MANY>(nullptr)), (fence<1, HOST>(host)));
    if (peer) printf(" | peer store: gpu %5.0f sys %5.0f", (fence<0, PEER>(peer)), (fence<1, PEER>(peer)));
    printf("\n"); fflush(stdout);
}
template <bool PACKED> static void exchanges(const char *id) {
    for (u32 bytes : {8u, 16u, 32u, 64u, 128u}) {
        std::vector<double> v;
        for (int k = 0; k < PLACES; k++) {
            const size_t at = (k * 7919 % 1000) * 8192; u64 first = 1; double t[2];
            for (int d = 0; d < 2; d++) { OK(cudaSetDevice(d)); OK(cudaMemset(memory[d] + at, 0, 4096)); }
            for (int r = 0; r < 2; r++) {
                const u64 turns = r ? 1016 : 516;
                for (int d = 0; d < 2; d++) { OK(cudaSetDevice(d)); exchange<PACKED><<<1, 32, 0, streams[d]>>>((Packet *)(memory[d] + at), (Packet *)(memory[1 - d] + at), bytes / 8, first, turns, out[d], bad[d]); }
                for (int d = 0; d < 2; d++) { OK(cudaSetDevice(d)); OK(cudaStreamSynchronize(streams[d])); }
                t[r] = cycles_of(0); first += turns;
            }
            v.push_back((t[1] - t[0]) / 500);
        }
        std::sort(v.begin(), v.end());
        double sum = 0;
        for (double one : v) sum += one;
        printf("primitive=%s devices=2 group=%u_bytes cycles=%.1f\n# %s %u bytes: median %.0f ns [%.0f %.0f]\n", id, bytes, sum / PLACES, id, bytes, v[PLACES / 2] / hertz[0], v[PLACES / 20] / hertz[0], v[PLACES - 1 - PLACES / 20] / hertz[0]); fflush(stdout);
    }
}
int main(int argc, char **argv) {
    const bool one = argc > 1;
    int count; OK(cudaGetDeviceCount(&count)); if (count < 2 && !one) { printf("# one device\n"); return 0; }
    const int used = one ? 1 : 2;
    u32 *host; OK(cudaHostAlloc((void **)&host, 4096, cudaHostAllocMapped | cudaHostAllocPortable));
    auto open = [](int d) { OK(cudaSetDevice(d)); OK(cudaMalloc((void **)&memory[d], 8 << 20)); OK(cudaMalloc((void **)&out[d], 8)); OK(cudaMalloc((void **)&bad[d], 4)); OK(cudaMemset(bad[d], 0, 4)); OK(cudaStreamCreateWithFlags(&streams[d], cudaStreamNonBlocking));
        long long ns; for (int k = 0; k < 3; k++) { spin<<<1, 1, 0, streams[d]>>>(40000000, out[d]); OK(cudaStreamSynchronize(streams[d])); } OK(cudaMemcpy(&ns, out[d], 8, cudaMemcpyDeviceToHost)); hertz[d] = 4e7 / ns; };
    open(0); fences_now(one ? "one device visible or used, one context" : "one context", nullptr, host);
    if (used == 1) return 0;
    open(1); OK(cudaSetDevice(0)); fences_now("context on the second device, no peer access", nullptr, host);
    OK(cudaDeviceEnablePeerAccess(1, 0)); fences_now("0 may access 1", (u32 *)memory[1], host);
    OK(cudaSetDevice(1)); OK(cudaDeviceEnablePeerAccess(0, 0)); OK(cudaSetDevice(0)); fences_now("each may access the other", (u32 *)memory[1], host);
    exchanges<true>("gpu.multi.exchange"); exchanges<false>("gpu.multi.exchange_released");
    OK(cudaSetDevice(0)); OK(cudaDeviceDisablePeerAccess(1)); fences_now("1 may access 0 alone", nullptr, host);
    OK(cudaSetDevice(1)); OK(cudaDeviceDisablePeerAccess(0)); OK(cudaSetDevice(0)); fences_now("no peer access again", nullptr, host);
    u32 b[2]; for (int d = 0; d < 2; d++) { OK(cudaSetDevice(d)); OK(cudaMemcpy(&b[d], bad[d], 4, cudaMemcpyDeviceToHost)); }
    printf("# clock %.3f GHz, wrong %u and %u\n", hertz[0], b[0], b[1]);
}
