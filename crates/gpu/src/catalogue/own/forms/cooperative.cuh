// The barrier of cooperative groups: each block adds one, the first what is missing to 2^31, so that the highest bit flips when all
// have arrived.
__device__ void grid_wait(Thread &me) {
    unsigned *const state = static_cast<unsigned *>(me.memory);
    __syncthreads();
    if (threadIdx.x == 0) {
        const unsigned addend = blockIdx.x == 0 ? 0x80000000u - (gridDim.x - 1) : 1;
        unsigned old;
        asm volatile("atom.add.release.gpu.global.u32 %0, [%1], %2;" : "=r"(old) : "l"(state), "r"(addend) : "memory");
        me.wait_until([&] {
            unsigned now;
            asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(now) : "l"(state) : "memory");
            return ((old ^ now) & 0x80000000u) != 0;
        });
    }
    __syncthreads();
}
