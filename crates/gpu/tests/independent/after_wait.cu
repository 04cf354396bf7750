// The first accesses of a block after its wait for the previous kernel: cycles of the first constant, the first line of global
// memory and the first run of code, by where the next kernel is triggered and by how many launches are queued behind. Each is
// touched before the wait.
#include <algorithm>
#include <cstdio>
#include <vector>
typedef unsigned u32; typedef unsigned long long u64;
__constant__ u32 table[1024];
struct Args { u32 *from, *to; u64 *out; long cycles; u32 number, mode; };
__device__ __forceinline__ u32 now() { u32 t; asm volatile("mov.u32 %0, %%clock;" : "=r"(t)::"memory"); return t; }
// The clock when the value has arrived.
__device__ __forceinline__ u32 now_after(u32 value) { u32 t; asm volatile("{.reg .pred p; setp.eq.u32 p, %1, 0x12345; @p trap; mov.u32 %0, %%clock;}" : "=r"(t) : "r"(value) : "memory"); return t; }
__device__ __forceinline__ u64 ns() { u64 t; asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t)); return t; }
// 192 instructions in a row that the compiler cannot shorten, called so that there is only one copy.
__device__ __noinline__ u32 code(u32 x) {
#pragma unroll
    for (int i = 0; i < 192; i++) asm volatile("mad.lo.u32 %0, %0, %0, %1;" : "+r"(x) : "r"(i * 2 + 1));
    return x;
}
template <int TRIGGER> __global__ void __launch_bounds__(1024, 2) step(Args a) {
    if (TRIGGER == 1) asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
    const u32 t_in = now();
    u32 x = code(threadIdx.x), c = ((volatile u32 *)table)[a.mode];  // touched
    if (a.mode & 1) x += *(volatile u32 *)(a.from + 32 * blockIdx.x);
    if (x + c == 77) a.out[1] = 1;
    if (TRIGGER != 0) asm volatile("griddepcontrol.wait;" ::: "memory");
    const u32 t0 = now();
    u32 y; asm volatile("ld.const.u32 %0, [table+256];" : "=r"(y)::"memory");
    const u32 t1 = now_after(y), t2 = now_after(y);
    u32 z = code(y + threadIdx.x);
    const u32 t3 = now_after(z);
    z = code(z);
    const u32 t4 = now_after(z);
    const u32 m = __ldcg(a.from + 32 * blockIdx.x);
    const u32 t5 = now_after(m);
    const long s = clock64(); while (clock64() - s < a.cycles) {}
    a.to[32 * blockIdx.x] = m + 1;
    if (threadIdx.x == 0) {
        u64 *o = a.out + 8 * ((u64)a.number * gridDim.x + blockIdx.x);
        o[0] = t1 - t0, o[1] = t2 - t1, o[2] = t3 - t2, o[3] = t4 - t3, o[4] = t5 - t4, o[5] = t0 - t_in;
    }
    if (TRIGGER == 2) asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}
int main() {
    cudaDeviceProp p; cudaGetDeviceProperties(&p, 0); const int blocks = p.multiProcessorCount, N = 24;
    u32 *arrays[2]; u64 *out; cudaMalloc(&arrays[0], 1 << 20); cudaMalloc(&arrays[1], 1 << 20); cudaMemset(arrays[0], 0, 1 << 20); cudaMemset(arrays[1], 0, 1 << 20);
    cudaMalloc(&out, 8 * 8 * N * blocks + 64);
    cudaStream_t s; cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    printf("%s: cycles after the wait: constant, (nothing), code first, code again, line of another block; median over blocks and kernels 4 to %d, and of the last kernel\n", p.name, N - 4);
    for (int threads : {32, 1024}) for (int graph : {0, 1}) for (int f = 0; f < 4; f++) {
        const char *names[] = {"plain", "wait alone", "start", "end"};
        std::vector<double> all[6], last[6];
        cudaGraphExec_t x = nullptr;
        auto chain = [&] { for (int i = 0; i < N; i++) {
            Args a{arrays[i & 1], arrays[~i & 1], out, 9900, (u32)i, 0};
            cudaLaunchConfig_t g{}; g.gridDim = blocks, g.blockDim = threads, g.stream = s;
            cudaLaunchAttribute at{}; at.id = cudaLaunchAttributeProgrammaticStreamSerialization, at.val.programmaticStreamSerializationAllowed = 1;
            g.attrs = &at, g.numAttrs = f != 0;
            cudaLaunchKernelEx(&g, f == 2 ? step<1> : f == 3 ? step<2> : f == 1 ? step<3> : step<0>, a); } };
        if (graph) { cudaGraph_t g; cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal); chain(); cudaStreamEndCapture(s, &g); cudaGraphInstantiate(&x, g, 0); cudaGraphUpload(x, s); }
        for (int r = 0; r < 12; r++) {
            if (graph) cudaGraphLaunch(x, s); else chain();
            cudaStreamSynchronize(s);
            std::vector<u64> host(8 * N * blocks); cudaMemcpy(host.data(), out, host.size() * 8, cudaMemcpyDeviceToHost);
            if (r > 1) for (int i = 4; i < N; i++) { if (i >= N - 4 && i < N - 1) continue; for (int b = 0; b < blocks; b++) for (int k = 0; k < 6; k++) (i == N - 1 ? last : all)[k].push_back(host[8 * ((u64)i * blocks + b) + k]); }
        }
        printf("%4d threads %-6s %-10s", threads, graph ? "graph" : "stream", names[f]);
        for (auto *v : {all, last}) { for (int k = 0; k < 6; k++) { std::sort(v[k].begin(), v[k].end()); printf(" %6.0f", v[k][v[k].size() / 2]); } printf("  |"); }
        printf("  %s\n", cudaGetErrorString(cudaGetLastError()));
    }
}
