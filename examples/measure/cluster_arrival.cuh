// Barriers of a cluster that order memory and that do not, in clusters of several sizes:
//   syncscope measure --gpu examples/measure/cluster_arrival.cuh --cluster 2,4,8,16 --threads 128
__device__ void cluster_wait(Thread &) {
    asm volatile("barrier.cluster.arrive.aligned;\n barrier.cluster.wait.aligned;" ::: "memory");
}

__device__ void operation_relaxed(Thread &) {
    asm volatile("barrier.cluster.arrive.relaxed.aligned;\n barrier.cluster.wait.aligned;" ::: "memory");
}
