// A barrier of a cluster made of barrier objects (gpu.cluster.mbarrier_remote): each block has one in its shared
// memory, every block arrives at all of them, and every thread waits at that of its own block.
#include "cluster.cuh"
#include "mbarrier.cuh"

using Arguments = RegisterArguments;

__shared__ u64 object;

struct Operation {
    u32 here;        // the object of this block
    u32 there;       // lane n: the object of block n
    bool arrives;    // whether this thread arrives for its block
    u32 parity = 0;  // of the phase that ends next
    u32 tests = 0;

    // One arrival of each block ends a phase. No block arrives before all objects are there.
    __device__ __forceinline__ explicit Operation(const Arguments &) : here((u32)__cvta_generic_to_shared(&object)) {
        const u32 blocks = cluster_blocks();
        arrives = threadIdx.x < blocks;
        there = address_in(threadIdx.x % blocks, &object);
        if (threadIdx.x == 0) {
            asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(here), "r"(blocks) : "memory");
            asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        }
        __syncwarp();
        arrive();
        wait();
    }

    // The barrier of the block passes the writes of all threads to the threads that arrive, the arrivals release them
    // to the cluster, and the wait acquires them. No phase is missed: a phase needs an arrival of this block, which
    // comes after all its threads have seen the end of the phase before.
    __device__ __forceinline__ void run() {
        __syncthreads();
        if (arrives)
            asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(there) : "memory");
        wait_until_over(tests, [&] { return is_over_in_cluster(here, parity); });
        parity ^= 1;
    }

    // The object must exist until all blocks have arrived, and must be empty before the next one is made of it.
    __device__ __forceinline__ void finish(const Arguments &) {
        __syncwarp();
        arrive();
        wait();
        if (threadIdx.x == 0) asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(here) : "memory");
    }

    __device__ static void check(const Arguments &arguments) {
        Operation barrier(arguments);
        check_cluster_barrier(arguments, barrier, [&] { barrier.run(); });
    }
};

template <>
constexpr Meets syncscope::MEETS<Operation> = Meets::CLUSTER;

SYNCSCOPE_CLUSTER_KERNELS(Repeated)
