// Atomic operations: kinds, types, spaces, scopes and orders.
typedef unsigned long long u64;
typedef unsigned short u16;

#define RED(space, op, type, reg, ptr, value) \
    asm volatile("red.relaxed.gpu." space op "." type " [%0], %1;" ::"l"(ptr), reg(value) : "memory");
#define ATOM(space, op, type, reg, ptr, value)                                                                     \
    asm volatile("atom.relaxed.gpu." space op "." type " %0, [%1], %2;" : "=" reg(value) : "l"(ptr), reg(value) : "memory");

#define BOTH(space, op, type, reg, ptr, value) \
    RED(space, op, type, reg, ptr, value)      \
    ATOM(space, op, type, reg, ptr, value)

#define INTEGERS(space, p32, p64, v32, v64)     \
    BOTH(space, "add", "u32", "r", p32, v32)    \
    BOTH(space, "add", "s32", "r", p32, v32)    \
    BOTH(space, "add", "u64", "l", p64, v64)    \
    BOTH(space, "min", "u32", "r", p32, v32)    \
    BOTH(space, "min", "s32", "r", p32, v32)    \
    BOTH(space, "min", "u64", "l", p64, v64)    \
    BOTH(space, "min", "s64", "l", p64, v64)    \
    BOTH(space, "max", "u32", "r", p32, v32)    \
    BOTH(space, "max", "s32", "r", p32, v32)    \
    BOTH(space, "max", "u64", "l", p64, v64)    \
    BOTH(space, "max", "s64", "l", p64, v64)    \
    BOTH(space, "and", "b32", "r", p32, v32)    \
    BOTH(space, "and", "b64", "l", p64, v64)    \
    BOTH(space, "or", "b32", "r", p32, v32)     \
    BOTH(space, "or", "b64", "l", p64, v64)     \
    BOTH(space, "xor", "b32", "r", p32, v32)    \
    BOTH(space, "xor", "b64", "l", p64, v64)    \
    BOTH(space, "inc", "u32", "r", p32, v32)    \
    BOTH(space, "dec", "u32", "r", p32, v32)    \
    ATOM(space, "exch", "b32", "r", p32, v32)   \
    ATOM(space, "exch", "b64", "l", p64, v64)   \
    asm volatile("atom." space "cas.b32 %0, [%1], %2, %3;" : "=r"(v32) : "l"(p32), "r"(v32), "r"(v32 + 1) : "memory"); \
    asm volatile("atom." space "cas.b64 %0, [%1], %2, %3;" : "=l"(v64) : "l"(p64), "l"(v64), "l"(v64 + 1) : "memory");

extern "C" __global__ void global_space(unsigned* p32, u64* p64) {
    unsigned v32 = threadIdx.x;
    u64 v64 = threadIdx.y;
    INTEGERS("global.", p32, p64, v32, v64)
    p32[threadIdx.x + 1] = v32;
    p64[threadIdx.x + 1] = v64;
}

extern "C" __global__ void generic_space(unsigned* p32, u64* p64) {
    unsigned v32 = threadIdx.x;
    u64 v64 = threadIdx.y;
    INTEGERS("", p32, p64, v32, v64)
    p32[threadIdx.x + 1] = v32;
    p64[threadIdx.x + 1] = v64;
}

extern "C" __global__ void shared_space(unsigned* out, u64* out64) {
    __shared__ unsigned s32[64];
    __shared__ u64 s64[64];
    unsigned v32 = threadIdx.x;
    u64 v64 = threadIdx.y;
    u64 p32 = __cvta_generic_to_shared(s32 + threadIdx.x);
    u64 p64 = __cvta_generic_to_shared(s64 + threadIdx.x);
    INTEGERS("shared.", p32, p64, v32, v64)
    out[threadIdx.x] = v32 + s32[threadIdx.y];
    out64[threadIdx.x] = v64 + s64[threadIdx.y];
}

extern "C" __global__ void floats(float* f, double* d, unsigned* h, float* fo, double* dor) {
    __shared__ float sf[32];
    __shared__ double sd[32];
    atomicAdd(f, 1.5f);
    atomicAdd(d, 1.5);
    fo[0] = atomicAdd(f + 1, 2.5f);
    dor[0] = atomicAdd(d + 1, 2.5);
    atomicAdd(sf + threadIdx.x, 1.0f);
    atomicAdd(sd + threadIdx.x, 1.0);
    fo[1] = atomicExch(sf + 3, 2.0f);
    fo[2] = atomicExch(f + 3, 2.0f);
    unsigned old;
    asm volatile("atom.global.add.noftz.f16x2 %0, [%1], %2;" : "=r"(old) : "l"(h), "r"(h[1]) : "memory");
    asm volatile("red.global.add.noftz.f16x2 [%0], %1;" ::"l"(h), "r"(old) : "memory");
    u16 half = old;
    asm volatile("red.global.add.noftz.f16 [%0], %1;" ::"l"(h), "h"(half) : "memory");
#if __CUDA_ARCH__ >= 900
    asm volatile("red.global.add.noftz.bf16x2 [%0], %1;" ::"l"(h), "r"(old) : "memory");
    asm volatile("atom.global.add.noftz.bf16x2 %0, [%1], %2;" : "=r"(old) : "l"(h), "r"(h[1]) : "memory");
    asm volatile("red.global.v4.f32.add [%0], {%1, %1, %1, %1};" ::"l"(f), "f"(fo[0]) : "memory");
    asm volatile("red.global.v2.f32.add [%0], {%1, %1};" ::"l"(f), "f"(fo[0]) : "memory");
#endif
    h[7] = old;
}

#define SCOPED(order, scope)                                                                                        \
    asm volatile("red." order "." scope ".global.add.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");                   \
    asm volatile("atom." order "." scope ".global.add.u32 %0, [%1], %2;" : "=r"(v) : "l"(p), "r"(v) : "memory");    \
    asm volatile("atom." order "." scope ".global.exch.b32 %0, [%1], %2;" : "=r"(v) : "l"(p), "r"(v) : "memory");   \
    asm volatile("atom." order "." scope ".global.cas.b32 %0, [%1], %2, %3;"                                        \
                 : "=r"(v) : "l"(p), "r"(v), "r"(v + 1) : "memory");                                                \
    asm volatile("atom." order "." scope ".add.u32 %0, [%1], %2;" : "=r"(v) : "l"(p), "r"(v) : "memory");

#define ORDERS(scope) SCOPED("relaxed", scope) SCOPED("release", scope)

extern "C" __global__ void scopes(unsigned* p) {
    unsigned v = threadIdx.x;
    ORDERS("cta")
    ORDERS("gpu")
    ORDERS("sys")
#if __CUDA_ARCH__ >= 900
    ORDERS("cluster")
#endif
    asm volatile("atom.acquire.gpu.global.add.u32 %0, [%1], %2;" : "=r"(v) : "l"(p), "r"(v) : "memory");
    asm volatile("atom.acq_rel.sys.global.cas.b32 %0, [%1], %2, %3;" : "=r"(v) : "l"(p), "r"(v), "r"(v + 1) : "memory");
    p[threadIdx.x + 1] = v;
}

extern "C" __global__ void builtin(int* i, unsigned* u, u64* l, int n) {
    int x = threadIdx.x;
    atomicAdd(i, 1);
    atomicSub(i + 1, 1);
    atomicMax(i + x, 4);
    atomicMin(u + x, 4u);
    atomicAdd_block(i + 2 * x, 2);
    atomicAdd_system(i + 3 * x, 2);
    atomicCAS(u + 4 * x, 1u, 2u);
    atomicCAS_system(u + 5 * x, 1u, 2u);
    atomicCAS_block(u + 6 * x, 1u, 2u);
    atomicExch(l + 3, 4ull);
    atomicInc(u + 6, 4u);
    atomicDec(u + 7, 4u);
    u[8 + x] = atomicCAS((unsigned short*)u, (u16)1, (u16)2);
    i[9 + x] = atomicAdd(i, x);
    i[10 + x] = atomicXor(i + 4, x);
    l[3 * x] = atomicAdd(l, 1ull);
}

#if __CUDA_ARCH__ >= 900
extern "C" __global__ void wide_cas(u64* p) {
    u64 a, b;
    asm volatile(
        "{ .reg .b128 old, want, next; mov.b128 want, {%3, %3}; mov.b128 next, {%3, %4};"
        "atom.global.cas.b128 old, [%2], want, next; mov.b128 {%0, %1}, old; }"
        : "=l"(a), "=l"(b) : "l"(p), "l"(p[3]), "l"(p[4]) : "memory");
    asm volatile(
        "{ .reg .b128 old, next; mov.b128 next, {%3, %4};"
        "atom.global.exch.b128 old, [%2], next; mov.b128 {%0, %1}, old; }"
        : "=l"(a), "=l"(b) : "l"(p), "l"(p[3] + a), "l"(p[4] + b) : "memory");
    p[5] = a + b;
}
#endif

// One variable in shared memory that all threads increment.
extern "C" __global__ void shared_count(int* out) {
    __shared__ int count;
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    atomicAdd(&count, 1);
    __syncthreads();
    out[threadIdx.x] = count;
}
