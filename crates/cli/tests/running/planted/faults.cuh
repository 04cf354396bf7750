// Planted faults: every operation of this file is wrong, and `syncscope measure` has to find it on a GPU with 64 threads and a
// block on each multiprocessor. Two cannot be seen on sm_90: the fence that releases empties the first-level cache, so that
// grid_wait_no_acquire finds nothing old in it; and the warps of one block share that cache (acquire_no_fence with one block).
__device__ unsigned *counter_of(Thread &me) { return static_cast<unsigned *>(me.memory); }
__device__ void poll_relaxed(Thread &me, unsigned target) {
    me.wait_until([&] { return *(volatile unsigned *)counter_of(me) >= target; });
}
__device__ void poll_acquire(Thread &me, unsigned target) {
    me.wait_until([&] {
        unsigned count;
        asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(count) : "l"(counter_of(me)) : "memory");
        return count >= target;
    });
}

// Neither the arrival nor the wait orders anything.
__device__ void grid_wait_relaxed(Thread &me) {
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(counter_of(me), 1u), poll_relaxed(me, (me.passed + 1) * gridDim.x);
    __syncthreads();
}

// The wait acquires nothing.
__device__ void grid_wait_no_acquire(Thread &me) {
    __syncthreads();
    if (threadIdx.x == 0) __threadfence(), atomicAdd(counter_of(me), 1u), poll_relaxed(me, (me.passed + 1) * gridDim.x);
    __syncthreads();
}

// The arrival releases nothing.
__device__ void grid_wait_no_release(Thread &me) {
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(counter_of(me), 1u), poll_acquire(me, (me.passed + 1) * gridDim.x);
    __syncthreads();
}

// The other threads of the block do not wait for the first one.
__device__ void grid_wait_alone(Thread &me) {
    if (threadIdx.x == 0) __threadfence(), atomicAdd(counter_of(me), 1u), poll_acquire(me, (me.passed + 1) * gridDim.x);
}

// The barrier waits for one block too few.
__device__ void grid_wait_for_one_less(Thread &me) {
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence(), atomicAdd(counter_of(me), 1u), poll_acquire(me, (me.passed + 1) * gridDim.x - 1);
    }
    __syncthreads();
}

// Barriers that wait for nobody, for the own warp only, and for nobody in the cluster.
__device__ void wait_nothing(Thread &me) { asm volatile("" ::: "memory"); }
__device__ void wait_warp(Thread &me) { __syncwarp(); }
__device__ void cluster_wait_block(Thread &me) { __syncthreads(); }

// Locks that two threads hold: nothing keeps them apart; the test and the set are two accesses.
__device__ void acquire_nothing(Thread &me) { asm volatile("" ::: "memory"); }
__device__ void release_nothing(Thread &me) { asm volatile("" ::: "memory"); }
__device__ void acquire_test_then_set(Thread &me) {
    me.wait_until([&] { return *(volatile T *)&me.x == 0; });
    *(volatile T *)&me.x = 1;
    __threadfence();
}
__device__ void release_test_then_set(Thread &me) { __threadfence(), *(volatile T *)&me.x = 0; }

// A lock that orders nothing.
__device__ void acquire_no_fence(Thread &me) { me.wait_until([&] { return atomicExch(&me.x, 1) == 0; }); }
__device__ void release_no_fence(Thread &me) { *(volatile T *)&me.x = 0; }

// Messages without fences, and a message that nobody waits for.
__device__ void send_no_fence(Thread &me) { *(volatile T *)&me.x = me.sent; }
__device__ void receive_no_fence(Thread &me) { me.wait_until([&] { return *(volatile T *)&me.x == me.sent; }); }
__device__ void send_early(Thread &me) { *(volatile T *)&me.x = me.sent; }
__device__ void receive_early(Thread &me) {}
