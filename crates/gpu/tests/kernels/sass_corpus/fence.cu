// Fences, and loads and stores with an order and a scope.
typedef unsigned long long u64;
#define PLAIN(text) asm volatile(text ::: "memory");

extern "C" __global__ void fences(int* p) {
    p[0] = 1;
    __threadfence_block();
    p[1] = 1;
    __threadfence();
    p[2] = 1;
    __threadfence_system();
    p[3] = 1;
    PLAIN("fence.acq_rel.cta;") p[4] = 1;
    PLAIN("fence.acq_rel.gpu;") p[5] = 1;
    PLAIN("fence.acq_rel.sys;") p[6] = 1;
    PLAIN("fence.sc.cta;") p[7] = 1;
    PLAIN("fence.sc.gpu;") p[8] = 1;
    PLAIN("fence.sc.sys;") p[9] = 1;
    PLAIN("membar.cta;") p[10] = 1;
    PLAIN("membar.gl;") p[11] = 1;
    PLAIN("membar.sys;") p[12] = 1;
#if __CUDA_ARCH__ >= 900
    PLAIN("fence.acq_rel.cluster;") p[13] = 1;
    PLAIN("fence.sc.cluster;") p[14] = 1;
    PLAIN("fence.proxy.async;") p[15] = 1;
    PLAIN("fence.proxy.async.global;") p[16] = 1;
    PLAIN("fence.proxy.async.shared::cta;") p[17] = 1;
    PLAIN("fence.mbarrier_init.release.cluster;") p[18] = 1;
    PLAIN("fence.proxy.tensormap::generic.release.gpu;") p[19] = 1;
#endif
    PLAIN("fence.proxy.alias;") p[20] = 1;
}

#define LOAD(how) asm volatile("ld." how ".u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory"); sum += v;
#define STORE(how) asm volatile("st." how ".u32 [%0], %1;" ::"l"(p), "r"(sum) : "memory");

extern "C" __global__ void global_access(unsigned* p) {
    unsigned v, sum = 0;
    LOAD("global") LOAD("volatile.global") LOAD("relaxed.cta.global") LOAD("relaxed.gpu.global")
    LOAD("relaxed.sys.global") LOAD("acquire.cta.global") LOAD("acquire.gpu.global") LOAD("acquire.sys.global")
    LOAD("global.ca") LOAD("global.cg") LOAD("global.cs") LOAD("global.lu") LOAD("global.cv") LOAD("global.nc")
    LOAD("weak.global") LOAD("mmio.relaxed.sys.global")
    LOAD("global.L1::evict_last") LOAD("global.L1::no_allocate") LOAD("global.L1::evict_first")
    STORE("global") STORE("volatile.global") STORE("relaxed.cta.global") STORE("relaxed.gpu.global")
    STORE("relaxed.sys.global") STORE("release.cta.global") STORE("release.gpu.global") STORE("release.sys.global")
    STORE("global.wb") STORE("global.cg") STORE("global.cs") STORE("global.wt") STORE("mmio.relaxed.sys.global")
#if __CUDA_ARCH__ >= 900
    LOAD("relaxed.cluster.global") LOAD("acquire.cluster.global")
    STORE("relaxed.cluster.global") STORE("release.cluster.global")
#endif
#if __CUDA_ARCH__ >= 800
    LOAD("global.L2::128B") LOAD("global.L2::64B") LOAD("global.L2::256B")
#endif
}

extern "C" __global__ void generic_access(unsigned* p) {
    unsigned v, sum = 0;
    LOAD("relaxed.gpu") LOAD("acquire.sys") LOAD("volatile") LOAD("weak")
    STORE("relaxed.gpu") STORE("release.sys") STORE("volatile") STORE("weak")
}

extern "C" __global__ void shared_access(unsigned* out, int i) {
    __shared__ unsigned s[512];
    __shared__ unsigned char bytes[512];
    unsigned v, sum = 0;
    u64 p = __cvta_generic_to_shared(s + i);
    s[threadIdx.x] = out[threadIdx.x];
    bytes[threadIdx.x] = out[threadIdx.x];
    LOAD("shared") LOAD("volatile.shared") LOAD("relaxed.cta.shared") LOAD("acquire.gpu.shared")
    STORE("shared") STORE("volatile.shared") STORE("relaxed.cta.shared") STORE("release.cta.shared")
    ((uint4*)out)[9] = ((uint4*)s)[i];
    ((u64*)s)[i + 3] = ((u64*)s)[i + 1];
    __syncthreads();
    out[threadIdx.x] = sum + bytes[threadIdx.x + 1] + (signed char)bytes[i];
}

extern "C" __global__ void widths(char* c, unsigned short* h, u64* l, uint4* v, int i) {
    int local[64];
    for (int k = 0; k < 64; k++) local[k] = c[k] + c[k + i];
    h[i] = h[i + 1] + local[i & 63];
    l[i] = l[i + 1] + local[(i + 1) & 63];
    v[i] = v[i + 1];
    c[i] = local[(i + 2) & 63];
    v[i + 7] = __ldg(v + 5);
    asm volatile("prefetch.global.L2 [%0];" ::"l"(c));
    asm volatile("prefetch.global.L1 [%0];" ::"l"(c));
#if __CUDA_ARCH__ >= 800
    asm volatile("discard.global.L2 [%0], 128;" ::"l"(c));
    asm volatile("applypriority.global.L2::evict_normal [%0], 128;" ::"l"(c));
#endif
}

#if __CUDA_ARCH__ >= 1000
extern "C" __global__ void widest(unsigned* p) {
    unsigned a, b, c, d, e, f, g, h;
    asm volatile("ld.global.v8.u32 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8];"
                 : "=r"(a), "=r"(b), "=r"(c), "=r"(d), "=r"(e), "=r"(f), "=r"(g), "=r"(h) : "l"(p) : "memory");
    asm volatile("st.global.v8.u32 [%8], {%0, %1, %2, %3, %4, %5, %6, %7};"
                 ::"r"(b), "r"(a), "r"(d), "r"(c), "r"(f), "r"(e), "r"(h), "r"(g), "l"(p + 64) : "memory");
}
#endif
