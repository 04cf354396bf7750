// Clusters of blocks: barriers, ranks and addresses.
#pragma once
#include "harness.cuh"

namespace syncscope {

// The default memory orders of both, written out: threads that waited see what was written before the arrival.
__device__ __forceinline__ void arrive() { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }
// The arrival that orders no memory accesses before it.
__device__ __forceinline__ void arrive_relaxed() {
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}
__device__ __forceinline__ void wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }

__device__ __forceinline__ u32 cluster_rank() {
    u32 rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

__device__ __forceinline__ u32 cluster_blocks() {
    u32 blocks;
    asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(blocks));
    return blocks;
}

// The address of a variable in the shared memory of another block of the cluster.
__device__ __forceinline__ u32 address_in(u32 rank, const volatile void *variable) {
    u32 address;
    const u32 here = (u32)__cvta_generic_to_shared(const_cast<const void *>(variable));
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(here), "r"(rank));
    return address;
}

__device__ __forceinline__ u32 load_cluster(u32 address) {
    u32 value;
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(address) : "memory");
    return value;
}

__device__ __forceinline__ u32 load_cluster_relaxed(u32 address) {
    u32 value;
    asm volatile("ld.relaxed.cluster.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(address) : "memory");
    return value;
}

// Every thread writes to the shared memory of its block, passes the barrier with `pass`, and reads what a thread of
// another block wrote. Blocks and warps arrive at different times. A relaxed barrier orders neither access, so the
// thread reads its own write back before it arrives, and the last read is a relaxed one: only the arrivals are tested.
template <bool IS_ORDERED = true, typename Arguments, typename Barrier, typename Pass>
__device__ __forceinline__ void check_cluster_barrier(const Arguments &arguments, Barrier &barrier, Pass pass) {
    __shared__ volatile u32 phases[1024];
    phases[threadIdx.x] = 0;
    barrier.run();
    const u32 blocks = cluster_blocks(), rank = cluster_rank();
#pragma unroll 1
    for (u32 phase = 1; phase <= 16; phase++) {
        const u32 partner = (rank + phase) % blocks;
        delay((rank * 11 + threadIdx.x / 32 * 7 + phase * 5) % 32);
        phases[threadIdx.x] = phase;
        if constexpr (!IS_ORDERED) {
            const u32 written = phases[threadIdx.x];
            if (written != phase) report_mismatch(arguments, phase, written);
        }
        pass();
        const u32 address = address_in(partner, &phases[threadIdx.x]);
        const u32 found = IS_ORDERED ? load_cluster(address) : load_cluster_relaxed(address);
        if (found != phase) report_mismatch(arguments, phase, found);
        barrier.run();
    }
    barrier.finish(arguments);
}

// Kernels that can only be launched with a cluster size. In other kernels every barrier tests at run time whether there
// is a cluster.
#define SYNCSCOPE_CLUSTER_KERNEL extern "C" __global__ void __cluster_dims__() SYNCSCOPE_BOUNDS

#define SYNCSCOPE_CLUSTER_KERNELS(Body) SYNCSCOPE_CLUSTER_KERNELS_ON(Body, Together)

#define SYNCSCOPE_CLUSTER_KERNELS_ON(Body, Paths)                                                        \
    SYNCSCOPE_CLUSTER_KERNEL syncscope_baseline(const Arguments arguments) {                             \
        measure<Body<1>, Paths, Operation>(arguments);                                                   \
    }                                                                                                    \
    SYNCSCOPE_CLUSTER_KERNEL syncscope_test(const Arguments arguments) {                                 \
        measure<Body<2>, Paths, Operation>(arguments);                                                   \
    }                                                                                                    \
    SYNCSCOPE_CLUSTER_KERNEL syncscope_check(const Arguments arguments) { Operation::check(arguments); } \
    SYNCSCOPE_THIRD(SYNCSCOPE_CLUSTER_KERNEL, Body, Paths, Operation)

}  // namespace syncscope
