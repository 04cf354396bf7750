// Is a barrier of the block needed before one of the cluster?
//   syncscope measure --gpu examples/measure/orderings_cluster.cuh --cluster 2,8 --threads 128 --orderings
__device__ void cluster_wait(Thread &) {
    __syncthreads();
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
