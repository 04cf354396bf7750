// Warp-level primitives: barriers, shuffles, votes, matches, reductions; converged and divergent.
typedef unsigned long long u64;

extern "C" __global__ void syncwarp_forms(int* out, unsigned mask) {
    __syncwarp();
    out[threadIdx.x] += 1;
    __syncwarp(mask);
    out[threadIdx.x] += 2;
    if (threadIdx.x & 1) {
        out[threadIdx.x] += 3;
        __syncwarp(0xaaaaaaaa);
        out[threadIdx.x] += out[threadIdx.x + 1];
        __syncwarp(mask);
    } else {
        out[threadIdx.x] += 4;
        __syncwarp(0x55555555);
        out[threadIdx.x] *= out[threadIdx.x + 1];
    }
    asm volatile("bar.warp.sync %0;" ::"r"(mask) : "memory");
    asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");
    asm volatile("bar.warp.sync 0xff;" ::: "memory");
}

template <typename T>
__device__ T shuffles(T value, unsigned mask, int lane) {
    value += __shfl_sync(0xffffffff, value, 3);
    value += __shfl_sync(0xffffffff, value, lane);
    value += __shfl_sync(mask, value, lane, 8);
    value += __shfl_up_sync(0xffffffff, value, 1);
    value += __shfl_up_sync(mask, value, lane, 16);
    value += __shfl_down_sync(0xffffffff, value, 1);
    value += __shfl_down_sync(mask, value, lane);
    value += __shfl_xor_sync(0xffffffff, value, 1);
    value += __shfl_xor_sync(mask, value, lane, 4);
    return value;
}

extern "C" __global__ void shuffle(int* i, unsigned* u, u64* l, float* f, double* d, unsigned mask, int lane) {
    int x = threadIdx.x;
    i[x] = shuffles(i[x], mask, lane);
    u[x] = shuffles(u[x], mask, lane);
    l[x] = shuffles(l[x], mask, lane);
    f[x] = shuffles(f[x], mask, lane);
    d[x] = shuffles(d[x], mask, lane);
}

extern "C" __global__ void shuffle_predicate(int* out, unsigned mask, int lane) {
    int value;
    asm volatile(
        "{ .reg .pred p; shfl.sync.up.b32 %0|p, %1, %2, 0, %3; @p add.s32 %0, %0, 1; }"
        : "=r"(value)
        : "r"(out[threadIdx.x]), "r"(lane), "r"(mask));
    out[threadIdx.x] = value;
}

extern "C" __global__ void vote(int* out, unsigned mask) {
    int p = out[threadIdx.x] > 3;
    int sum = __all_sync(0xffffffff, p);
    sum += __any_sync(0xffffffff, p + sum);
    sum += __ballot_sync(0xffffffff, p + sum);
    sum += __all_sync(mask, p + sum);
    sum += __any_sync(mask, p + sum);
    sum += __ballot_sync(mask, p + sum);
    sum += __uni_sync(0xffffffff, p + sum);
    sum += __activemask();
    if (mask == 3) sum += __ballot_sync(0xffffffff, mask > 2);
    out[threadIdx.x] = sum;
}

#define OPAQUE_VOTE(kind)                                                                                     \
    asm volatile("{ .reg .pred p, q; setp.ne.s32 p, %1, 0; vote.sync." kind                                   \
                 ".pred q, p, 0xffffffff; selp.s32 %0, 1, 0, q; }"                                            \
                 : "=r"(value)                                                                                \
                 : "r"(value));

extern "C" __global__ void opaque_vote(int* out) {
    int value = out[threadIdx.x];
    OPAQUE_VOTE("all")
    OPAQUE_VOTE("any")
    OPAQUE_VOTE("uni")
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %1, 0; vote.sync.ballot.b32 %0, p, 0xffffffff; }"
                 : "=r"(value)
                 : "r"(value));
    out[threadIdx.x] = value;
}

extern "C" __global__ void match(unsigned* out, u64* wide, unsigned mask) {
    int predicate;
    unsigned sum = __match_any_sync(0xffffffff, out[threadIdx.x]);
    sum += __match_all_sync(0xffffffff, out[threadIdx.x], &predicate);
    sum += predicate;
    sum += __match_any_sync(mask, wide[threadIdx.x]);
    sum += __match_all_sync(mask, wide[threadIdx.x], &predicate);
    sum += predicate;
    out[threadIdx.x] = sum;
}

#if __CUDA_ARCH__ >= 800
extern "C" __global__ void reduce(int* i, unsigned* u, unsigned mask) {
    int x = threadIdx.x;
    i[x] = __reduce_add_sync(0xffffffff, i[x]);
    i[x + 1] = __reduce_min_sync(0xffffffff, i[x]);
    i[x + 2] = __reduce_max_sync(mask, i[x]);
    u[x] = __reduce_add_sync(mask, u[x]);
    u[x + 1] = __reduce_min_sync(0xffffffff, u[x]);
    u[x + 2] = __reduce_max_sync(0xffffffff, u[x]);
    u[x + 3] = __reduce_and_sync(0xffffffff, u[x]);
    u[x + 4] = __reduce_or_sync(mask, u[x]);
    u[x + 5] = __reduce_xor_sync(0xffffffff, u[x]);
}
#endif

#if __CUDA_ARCH__ >= 900
extern "C" __global__ void elect(unsigned* out, unsigned mask) {
    unsigned leader, chosen;
    asm volatile("{ .reg .pred p; elect.sync %0|p, %2; selp.u32 %1, 1, 0, p; }" : "=r"(leader), "=r"(chosen) : "r"(mask));
    asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p; }" : "=r"(chosen) : "r"(mask));
    out[threadIdx.x] = leader + chosen;
}
#endif
