// Barrier objects in shared memory: whether a phase is over, and the wait for it.
#pragma once
#include "harness.cuh"

namespace syncscope {

// From compute capability 9.0 on, the thread may sleep in it for a while.
#if __CUDA_ARCH__ >= 900
#define SYNCSCOPE_PHASE_TEST "mbarrier.try_wait"
#else
#define SYNCSCOPE_PHASE_TEST "mbarrier.test_wait"
#endif

// The statement that tests a phase: with these qualifiers, and its token ("l") or parity ("r").
#define SYNCSCOPE_IS_OVER(QUALIFIERS, KIND, object, phase)                                                         \
    u32 over;                                                                                                      \
    asm volatile("{.reg .pred over; " SYNCSCOPE_PHASE_TEST QUALIFIERS " over, [%1], %2; selp.u32 %0, 1, 0, over;}" \
                 : "=r"(over)                                                                                      \
                 : "r"(object), KIND(phase)                                                                        \
                 : "memory");                                                                                      \
    return over != 0;

__device__ __forceinline__ bool is_over_by_token(u32 object, u64 token){
    SYNCSCOPE_IS_OVER(".shared.b64", "l", object, token)} __device__ __forceinline__
    bool is_over_by_parity(u32 object, u32 parity){SYNCSCOPE_IS_OVER(".parity.shared.b64", "r", object, parity)}
// Also acquires what other blocks of the cluster wrote.
__device__ __forceinline__ bool is_over_in_cluster(u32 object, u32 parity) {
    SYNCSCOPE_IS_OVER(".parity.acquire.cluster.shared::cta.b64", "r", object, parity)
}

// Waits for a phase as a program does: where it is over at once, no branch is taken. (A jump over a look at the host's
// flag, as `Spin` has, cost 5 to 11 cycles in each phase on an H200.) A mere count ends it, of all tests in a kernel:
// more than any launch needs, and some seconds of a phase that never ends.
template <typename Test>
__device__ __forceinline__ void wait_until_over(u32 &tests, Test is_over) {
    bool over;
    do {
        over = is_over();
    } while (!over & (tests++ < 1u << 27));
}

}  // namespace syncscope
