// Barriers of a thread block in all their forms.
#define PLAIN(text) asm volatile(text ::: "memory")

extern "C" __global__ void syncthreads_forms(int* out, int p) {
    __syncthreads();
    out[threadIdx.x] += 1;
    out[threadIdx.x + 1000] = __syncthreads_count(p == threadIdx.x);
    out[threadIdx.x + 2000] = __syncthreads_and(p == threadIdx.x);
    out[threadIdx.x + 3000] = __syncthreads_or(p == threadIdx.x);
}

extern "C" __global__ void named(int* out, int id, int count) {
    PLAIN("bar.sync 1;");
    PLAIN("bar.sync 2, 64;");
    PLAIN("bar.arrive 3, 64;");
    PLAIN("barrier.sync 4;");
    PLAIN("barrier.sync 5, 96;");
    PLAIN("barrier.arrive 6, 96;");
    PLAIN("barrier.sync.aligned 7;");
    asm volatile("bar.sync %0;" ::"r"(id) : "memory");
    asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(count) : "memory");
    asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(count) : "memory");
    asm volatile("barrier.sync %0;" ::"r"(id) : "memory");
    asm volatile("barrier.sync %0, %1;" ::"r"(id), "r"(count) : "memory");
    asm volatile("bar.sync 3, %0;" ::"r"(count) : "memory");
    asm volatile("bar.sync %0, 64;" ::"r"(id) : "memory");
    asm volatile("bar.arrive %0, 64;" ::"r"(id) : "memory");
    asm volatile("bar.arrive 3, %0;" ::"r"(count) : "memory");
    out[0] = 1;
}

#define REDUCE(kind, type)                                                                           \
    asm volatile(                                                                                    \
        "{ .reg .pred p, q; .reg .u32 r;\n setp.ne.u32 p, %1, 0;\n"                                  \
        "barrier.cta.red." kind ".aligned.pred q, 1, p;\n selp.u32 r, 1, 0, q;\n mov.u32 %0, r; }" \
        : "=r"(value)                                                                                \
        : "r"(out[threadIdx.x])                                                                      \
        : "memory");                                                                                 \
    sum += value;

extern "C" __global__ void reductions(unsigned* out, int id) {
    unsigned value, sum = 0;
    REDUCE("and", "pred")
    REDUCE("or", "pred")
    asm volatile(
        "{ .reg .pred p;\n setp.ne.u32 p, %1, 0;\n bar.red.popc.u32 %0, 2, p; }" : "=r"(value) : "r"(sum) : "memory");
    sum += value;
    asm volatile(
        "{ .reg .pred p;\n setp.ne.u32 p, %1, 0;\n bar.red.popc.u32 %0, 2, 64, p; }" : "=r"(value) : "r"(sum) : "memory");
    sum += value;
    asm volatile(
        "{ .reg .pred p;\n setp.ne.u32 p, %1, 0;\n barrier.red.popc.u32 %0, %2, p; }"
        : "=r"(value)
        : "r"(sum), "r"(id)
        : "memory");
    out[threadIdx.x] = sum + value;
}

extern "C" __global__ void divergent_barrier(int* out) {
    if (threadIdx.x & 1) {
        out[threadIdx.x] = 3;
        __syncthreads();
    } else {
        out[threadIdx.x] = 4;
        __syncthreads();
    }
    out[threadIdx.x + 1] = 5;
}
