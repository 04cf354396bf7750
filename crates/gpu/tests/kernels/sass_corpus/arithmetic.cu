// Ordinary instructions: the neighbours of the synchronization in every loop.
typedef unsigned long long u64;

extern "C" __global__ void integers(int* i, unsigned* u, long long* l, int n, unsigned s) {
    int x = threadIdx.x, a = i[x], b = i[x + 1];
    i[x + 2] = a / b + a % n + (a << (s & 31)) + (b >> s) + min(a, b) * max(a, n) + abs(a - b);
    u[x] = __umulhi(a, b) + __popc(a) + __clz(b) + __ffs(a) + __brev(b) + __byte_perm(a, b, s) + u[x] / s;
    l[x] = l[x + 1] * l[x + 2] + l[x + 3] / (n + 1) + (l[x + 4] >> s) + (u64)a * b;
    u[x + 9] = (a & b) | (~a & n) ^ s;
    i[x + 3] = __vadd2(a, b) + __vmaxs4(a, b) + __sad(a, b, s) + __dp4a(a, b, n);
    i[x + 4] = (a > b) ? n : (a == n && b != 3) ? 4 : b;
    u[x + 5] = __funnelshift_l(a, b, s) + __usad(a, b, s) + __vabsdiffu4(a, b);
    l[x + 6] = l[7] < l[8] ? __clzll(l[9]) : __popcll(l[10]);
    i[x + 12] = (short)a * (char)b + (unsigned short)n;
}

extern "C" __global__ void floats(float* f, double* d, int* i, int n) {
    int x = threadIdx.x;
    float a = f[x], b = f[x + 1];
    f[x + 2] = a * b + a / b + sqrtf(a) + __expf(b) + sinf(a) + rsqrtf(b) + fminf(a, b) + floorf(a) + fmaf(a, b, 2.0f);
    f[x + 3] = __sinf(a) + __cosf(b) + __log2f(a) + exp2f(b) + tanhf(a) + fabsf(b) - truncf(a) + __frcp_rn(b);
    d[x] = d[x + 1] * d[x + 2] + d[x + 3] / d[x + 4] + sqrt(d[x + 5]) + fmax(d[x], d[x + 7]) + exp(d[x]);
    i[x] = (int)a + (int)d[x] + __float2uint_rn(b) + (a < b) + (d[x] > d[x + 1]) + isnan(a);
    f[x + 5] = i[x] + (float)d[x] + (float)(long long)n + (float)(unsigned char)n;
    d[x + 9] = n + (double)a + (double)(u64)i[x];
}

extern "C" __global__ void halves(unsigned* h, float* f) {
    unsigned a = h[threadIdx.x], b = h[threadIdx.x + 1], r, q;
    asm volatile("fma.rn.f16x2 %0, %1, %2, %1;" : "=r"(r) : "r"(a), "r"(b));
    asm volatile("add.f16x2 %0, %1, %2;" : "=r"(q) : "r"(r), "r"(b));
    asm volatile("mul.f16x2 %0, %1, %2;" : "=r"(r) : "r"(q), "r"(b));
    asm volatile("{ .reg .b16 lo, hi; mov.b32 {lo, hi}, %1; cvt.f32.f16 %0, lo; }" : "=f"(f[0]) : "r"(r));
    asm volatile("{ .reg .b16 x; cvt.rn.f16.f32 x, %1; mov.b32 %0, {x, x}; }" : "=r"(q) : "f"(f[1]));
    asm volatile("ex2.approx.f16x2 %0, %1;" : "=r"(r) : "r"(q));
    h[threadIdx.x + 5] = r + q;
}

extern "C" __global__ void matrices(float* f, unsigned* h, int* i) {
    __shared__ unsigned tile[512];
    float c0 = 0, c1 = 0, c2 = 0, c3 = 0;
    unsigned a0, a1, s = __cvta_generic_to_shared(tile + threadIdx.x * 4);
    tile[threadIdx.x] = h[threadIdx.x];
    __syncthreads();
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(a0), "=r"(a1) : "r"(s));
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                 : "+f"(c0), "+f"(c1), "+f"(c2), "+f"(c3) : "r"(a0), "r"(a1), "r"(h[1]));
    int d0 = 0, d1 = 0;
    asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0,%1}, {%2}, {%3}, {%0,%1};"
                 : "+r"(d0), "+r"(d1) : "r"(a0), "r"(a1));
    f[threadIdx.x] = c0 + c1 + c2 + c3;
    i[threadIdx.x] = d0 + d1;
}

__constant__ int constants[64];

extern "C" __global__ void memory(int* out, cudaTextureObject_t texture, cudaSurfaceObject_t surface, int n) {
    int r;
    float t0, t1, t2, t3;
    out[0] = constants[n & 63] + constants[threadIdx.x & 63];
    asm volatile("tex.2d.v4.f32.f32 {%0,%1,%2,%3}, [%4, {%5, %5}];" : "=f"(t0), "=f"(t1), "=f"(t2), "=f"(t3) : "l"(texture), "f"(1.0f));
    asm volatile("suld.b.1d.b32.trap %0, [%1, {%2}];" : "=r"(r) : "l"(surface), "r"(n));
    asm volatile("sust.b.1d.b32.trap [%0, {%1}], %2;" ::"l"(surface), "r"(n), "r"(r));
    asm volatile("{ .reg .pred p; isspacep.shared p, %1; selp.s32 %0, 1, 0, p; }" : "=r"(r) : "l"(out));
    out[1] = t0 + t1 + t2 + t3 + r;
}
