// Barriers in shared memory, asynchronous copies and clusters.
typedef unsigned long long u64;

#if __CUDA_ARCH__ >= 800
extern "C" __global__ void mbarrier(u64* out, const uint4* in) {
    __shared__ u64 bar;
    __shared__ uint4 buffer[64];
    unsigned b = __cvta_generic_to_shared(&bar), s = __cvta_generic_to_shared(buffer + threadIdx.x);
    u64 state, count;
    unsigned done;
    if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(b), "r"(blockDim.x) : "memory");
    __syncthreads();
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(s), "l"(in) : "memory");
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(s), "l"(in) : "memory");
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(s), "l"(in + 64) : "memory");
    asm volatile("cp.async.mbarrier.arrive.shared.b64 [%0];" ::"r"(b) : "memory");
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(b) : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
    asm volatile("cp.async.wait_group 1;" ::: "memory");
    asm volatile("cp.async.wait_all;" ::: "memory");
    asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(b) : "memory");
    do {
        asm volatile("{ .reg .pred p; mbarrier.test_wait.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                     : "=r"(done) : "r"(b), "l"(state) : "memory");
    } while (!done);
    asm volatile("mbarrier.arrive.noComplete.shared.b64 %0, [%1], 3;" : "=l"(state) : "r"(b) : "memory");
    asm volatile("mbarrier.arrive_drop.shared.b64 %0, [%1];" : "=l"(state) : "r"(b) : "memory");
    asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(done) : "l"(state));
    out[threadIdx.x] = state + done;
    asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(b) : "memory");
}
#endif

#if __CUDA_ARCH__ >= 900
extern "C" __global__ void mbarrier_transactions(u64* out, const uint4* in, unsigned parity) {
    __shared__ u64 bar;
    __shared__ uint4 buffer[64];
    unsigned b = __cvta_generic_to_shared(&bar), s = __cvta_generic_to_shared(buffer);
    u64 state;
    unsigned done;
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 32;" ::"r"(b) : "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 %0, [%1], 64;" : "=l"(state) : "r"(b) : "memory");
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], 64;" ::"r"(b) : "memory");
    asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], 64;" ::"r"(b) : "memory");
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(b) : "memory");
    asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1], 4;" : "=l"(state) : "r"(b) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 64, [%2];"
                 ::"r"(s), "l"(in), "r"(b) : "memory");
    do {
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                     : "=r"(done) : "r"(b), "r"(parity) : "memory");
    } while (!done);
    asm volatile("{ .reg .pred p; mbarrier.try_wait.shared::cta.b64 p, [%1], %2, 1000; selp.u32 %0, 1, 0, p; }"
                 : "=r"(done) : "r"(b), "l"(state) : "memory");
    asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                 : "=r"(done) : "r"(b), "r"(parity) : "memory");
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 64;" ::"l"(out), "r"(s) : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0], [%1], 64;" ::"l"(out), "r"(s) : "memory");
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], 64;" ::"l"(in) : "memory");
    out[threadIdx.x] = done + buffer[threadIdx.x].x + state;
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) cluster(unsigned* out) {
    __shared__ unsigned word;
    __shared__ u64 bar;
    unsigned here = __cvta_generic_to_shared(&word), there, bar_there, v;
    asm volatile("barrier.cluster.arrive;" ::: "memory");
    asm volatile("barrier.cluster.wait;" ::: "memory");
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(here), "r"(1));
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(bar_there) : "r"((unsigned)__cvta_generic_to_shared(&bar)), "r"(1));
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(v) : "r"(there) : "memory");
    asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(there), "r"(v) : "memory");
    asm volatile("atom.shared::cluster.add.u32 %0, [%1], 1;" : "=r"(v) : "r"(there) : "memory");
    asm volatile("red.shared::cluster.add.u32 [%0], 1;" ::"r"(there) : "memory");
    asm volatile("atom.shared::cluster.cas.b32 %0, [%1], %2, 7;" : "=r"(v) : "r"(there), "r"(v) : "memory");
    asm volatile("atom.shared::cluster.exch.b32 %0, [%1], %2;" : "=r"(v) : "r"(there), "r"(v) : "memory");
    asm volatile("atom.shared::cluster.max.s32 %0, [%1], %2;" : "=r"(v) : "r"(there), "r"(v) : "memory");
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(bar_there) : "memory");
    asm volatile("mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%0], 4;" ::"r"(bar_there) : "memory");
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(there), "r"(v), "r"(bar_there) : "memory");
    asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%0], %1, [%2];"
                 ::"r"(there), "r"(v), "r"(bar_there) : "memory");
    out[threadIdx.x] = v;
}

extern "C" __global__ void dependent_launch(unsigned* out) {
    asm volatile("griddepcontrol.wait;" ::: "memory");
    out[threadIdx.x] += 1;
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}
#endif
