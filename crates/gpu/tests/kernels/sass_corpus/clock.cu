// Every way of reading a clock, and the shape of a timed loop.
typedef unsigned long long u64;

extern "C" __global__ void clock_64(u64* out, unsigned* word, int n) {
    for (int i = 0; i < 16; i++) atomicAdd(word + threadIdx.x, 1u);
    u64 start = clock64();
#pragma unroll 1
    for (int i = 0; i < n; i++) {
#pragma unroll
        for (int j = 0; j < 8; j++) asm volatile("red.relaxed.gpu.global.add.u32 [%0], 1;" ::"l"(word) : "memory");
    }
    u64 stop = clock64();
    out[threadIdx.x] = stop - start;
}

extern "C" __global__ void clock_32(unsigned* out, unsigned* word, int n) {
    unsigned start = clock();
#pragma unroll 1
    for (int i = 0; i < n; i++) asm volatile("bar.sync 0;" ::: "memory");
    out[threadIdx.x] = clock() - start;
}

extern "C" __global__ void clock_high(unsigned* out) {
    unsigned high;
    asm volatile("mov.u32 %0, %%clock_hi;" : "=r"(high));
    out[threadIdx.x] = high;
}

extern "C" __global__ void timer(u64* out, int n) {
    u64 start, stop;
    unsigned low, high;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
#pragma unroll 1
    for (int i = 0; i < n; i++) __syncwarp();
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(stop));
    asm volatile("mov.u32 %0, %%globaltimer_lo;" : "=r"(low));
    asm volatile("mov.u32 %0, %%globaltimer_hi;" : "=r"(high));
    out[threadIdx.x] = stop - start + low + high;
}

extern "C" __global__ void both_clocks(u64* out, unsigned* word, int n) {
    u64 start_ns, stop_ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start_ns));
    u64 start = clock64();
#pragma unroll 1
    for (int i = 0; i < n; i++) __syncthreads();
    u64 stop = clock64();
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(stop_ns));
    out[0] = stop - start;
    out[1] = stop_ns - start_ns;
}

#define SPECIAL(name)                                          \
    {                                                          \
        unsigned value;                                        \
        asm volatile("mov.u32 %0, %%" name ";" : "=r"(value)); \
        sum += value;                                          \
    }

extern "C" __global__ void special_registers(unsigned* out) {
    unsigned sum = 0;
    SPECIAL("smid")
    SPECIAL("nsmid")
    SPECIAL("laneid")
    SPECIAL("warpid")
    SPECIAL("nwarpid")
    SPECIAL("gridid")
    SPECIAL("lanemask_eq")
    SPECIAL("lanemask_le")
    SPECIAL("lanemask_lt")
    SPECIAL("lanemask_ge")
    SPECIAL("lanemask_gt")
    SPECIAL("dynamic_smem_size")
    SPECIAL("total_smem_size")
    SPECIAL("pm0")
    SPECIAL("envreg1")
#if __CUDA_ARCH__ >= 900
    SPECIAL("cluster_ctarank")
    SPECIAL("cluster_nctarank")
    SPECIAL("cluster_ctaid.x")
    SPECIAL("clusterid.x")
    SPECIAL("nclusterid.x")
    SPECIAL("aggr_smem_size")
#endif
    out[threadIdx.x + threadIdx.y + threadIdx.z + blockIdx.x + blockIdx.y + blockIdx.z + gridDim.x] = sum;
}

extern "C" __global__ void sleeping(unsigned* out, unsigned ns) {
    __nanosleep(100);
    __nanosleep(ns);
    asm volatile("nanosleep.u32 %0;" ::"r"(out[0]));
    asm volatile("pmevent 3;");
    if (ns == 77) __trap();
    if (ns == 78) asm volatile("brkpt;");
}
