// The warps of a block that add to one counter and meet, on a common clock:
//   syncscope paper timeline --kernel examples/measure/region.cu --threads 256
__device__ u32 region(u32 *memory, u32 round, Marks &marks) {
    BEGIN_REGION;
    const u32 before = atomicAdd(memory, 1u);
    __syncthreads();
    END_REGION;
    return before;
}
