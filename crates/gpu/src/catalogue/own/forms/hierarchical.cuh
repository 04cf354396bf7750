// Relaxed polls, and one fence at the end that only acquires. Compute capability 9.0.
__device__ void grid_wait_paused_acquire(Thread &me) {
    unsigned *const counter = static_cast<unsigned *>(me.memory);
    __syncthreads();
    if (threadIdx.x == 0) {
        const unsigned target = (me.passed + 1) * gridDim.x;
        asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(counter) : "memory");
        const unsigned start = clock();
        while ((unsigned)clock() - start < 300) {
        }
        me.wait_until([&] {
            unsigned count;
            asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(count) : "l"(counter) : "memory");
            return (int)(count - target) >= 0;
        });
        asm volatile("fence.acquire.gpu;" ::: "memory");
    }
    __syncthreads();
}

// Eight counters, each in a line of its own; a lane waits for each of them. Each lane acquires what it read: a fence of another one
// would not.
__device__ void grid_wait_spread(Thread &me) {
    constexpr unsigned COUNTERS = 8, LINE = 32;
    unsigned *const counters = static_cast<unsigned *>(me.memory);
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(counters + blockIdx.x % COUNTERS * LINE) : "memory");
    }
    if (threadIdx.x < 32) {
        for (unsigned number = threadIdx.x; number < COUNTERS; number += min(32u, blockDim.x)) {
            const unsigned arrivals = (gridDim.x + COUNTERS - 1 - number) / COUNTERS, target = (me.passed + 1) * arrivals;
            me.wait_until([&] {
                unsigned count;
                asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(count) : "l"(counters + number * LINE) : "memory");
                return (int)(count - target) >= 0;
            });
        }
        asm volatile("fence.acquire.gpu;" ::: "memory");
    }
    __syncthreads();
}

// Two counters, as one in each half of the cache: a block adds to one of them and waits for the sum of both.
__device__ void grid_wait_near_counters(Thread &me) {
    constexpr unsigned LINE = 32;
    unsigned *const counters = static_cast<unsigned *>(me.memory);
    __syncthreads();
    if (threadIdx.x == 0) {
        const unsigned target = (me.passed + 1) * gridDim.x;
        asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(counters + blockIdx.x % 2 * LINE) : "memory");
        me.wait_until([&] {
            unsigned one, other;
            asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(one) : "l"(counters) : "memory");
            asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(other) : "l"(counters + LINE) : "memory");
            return (int)(one + other - target) >= 0;
        });
        asm volatile("fence.acquire.gpu;" ::: "memory");
    }
    __syncthreads();
}
