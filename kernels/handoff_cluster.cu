// Hand-offs between two blocks of a cluster through their shared memory (gpu.handoff.cluster): each waits in its own
// for the turn that the other one writes there, so one operation is a round trip.
//
// KIND selects how; all but RELAXED carry data, which the receiver reads and compares.
#include "cluster.cuh"

using Arguments = RegisterArguments;

enum Kind { RELAXED, RELEASE, ASYNC };

// Polls of a wait: more than a second, where a turn takes a microsecond. A poll of a barrier object may wait by itself.
constexpr u32 POLLS = KIND == ASYNC ? 1 << 20 : 1 << 26;

struct Operation {
    u32 rank, turn = 0, wrong = 0;
    u32 flag, data, object, flag_there, data_there, object_there;
    u32 polls = POLLS;  // 1: a wait was in vain

    __device__ __forceinline__ explicit Operation(const Arguments &) : rank(cluster_rank()) {
        __shared__ u64 words[3];
        flag = address_of(words), data = address_of(words + 1), object = address_of(words + 2);
        // Else the compiler makes them of special registers anew in each poll.
        asm volatile("" : "+r"(rank), "+r"(flag), "+r"(data), "+r"(object));
        const u32 other = (rank + 1) % cluster_blocks();
        flag_there = address_in(other, words), data_there = address_in(other, words + 1);
        object_there = address_in(other, words + 2);
        __syncthreads();
        if (threadIdx.x == 0) {
            words[0] = words[1] = 0;
            asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(object) : "memory");
            asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
            if constexpr (KIND == ASYNC) expect();
        }
        meet_in_cluster();
        // The second block begins with an answer, so that both wait first.
        if (KIND == ASYNC && takes_part() && rank == 1) send(0);
    }

    __device__ __forceinline__ static u32 address_of(const u64 *word) { return (u32)__cvta_generic_to_shared(word); }

    __device__ __forceinline__ bool takes_part() const { return threadIdx.x == 0; }

    __device__ __forceinline__ void run() {
        turn++;
        receive(turn - 1 + rank);
        send(turn);
    }

    __device__ __forceinline__ void send(u32 value) const {
        if constexpr (KIND == RELAXED) {
            asm volatile("st.relaxed.cluster.shared::cluster.u32 [%0], %1;" ::"r"(flag_there), "r"(value) : "memory");
        }
        if constexpr (KIND == RELEASE) {
            asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(data_there), "r"(value) : "memory");
            asm volatile("st.release.cluster.shared::cluster.u32 [%0], %1;" ::"r"(flag_there), "r"(value) : "memory");
        }
        // The store completes the phase of the barrier object beside it.
        if constexpr (KIND == ASYNC) {
            asm volatile(
                "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(data_there),
                "r"(value), "r"(object_there)
                : "memory");
        }
    }

    // Whether the other block has written this turn, or ended the phase of this parity.
    __device__ __forceinline__ static bool has_arrived(u32 at, u32 awaited) {
        u32 found;
        if constexpr (KIND == RELAXED) {
            asm volatile("ld.relaxed.cluster.shared.u32 %0, [%1];" : "=r"(found) : "r"(at) : "memory");
        } else if constexpr (KIND == RELEASE) {
            asm volatile("ld.acquire.cluster.shared.u32 %0, [%1];" : "=r"(found) : "r"(at) : "memory");
        } else {
            asm volatile(
                "{.reg .pred over; mbarrier.try_wait.parity.acquire.cluster.shared.b64 over, [%1], %2; "
                "selp.u32 %0, 1, 0, over;}"
                : "=r"(found)
                : "r"(at), "r"(awaited)
                : "memory");
            return found != 0;
        }
        return found == awaited;
    }

    // The poll is a program's own loop, with a count beside it. If it ends in vain, the other block is gone.
    __device__ __forceinline__ void receive(u32 awaited) {
        const u32 at = KIND == ASYNC ? object : flag, sought = KIND == ASYNC ? (turn - 1) & 1 : awaited;
        u32 left = polls;
        bool is_there;
#pragma unroll 1
        do is_there = has_arrived(at, sought);
        while (!is_there & (--left != 0));
        wrong |= !is_there;
        polls = is_there ? polls : 1;
        if constexpr (KIND == RELAXED) return;
        u32 found;
        asm volatile("ld.shared.u32 %0, [%1];" : "=r"(found) : "r"(data) : "memory");
        if constexpr (KIND == ASYNC) expect();
        // What was received has arrived, as a program needs it.
        if (found != awaited) wrong = differs(wrong, awaited, found);
    }

    // Not inlined, so that it stays a branch: the answer must not leave before the data is here.
    __device__ __noinline__ static u32 differs(u32 wrong, u32 awaited, u32 found) {
        asm volatile("" ::: "memory");
        return wrong | (found ^ awaited);
    }

    // The next phase ends with the arrival of this thread and four bytes.
    __device__ __forceinline__ void expect() const {
        asm volatile("{.reg .b64 phase; mbarrier.arrive.expect_tx.shared.b64 phase, [%0], 4;}" ::"r"(object)
                     : "memory");
    }

    // The last message of each has arrived before the memory is used again.
    __device__ __forceinline__ void finish(const Arguments &arguments) {
        if (takes_part()) {
            if (rank == 0) receive_last();
            if (wrong != 0) report_mismatch(arguments, turn, turn ^ wrong);
        }
        meet_in_cluster();
        if (takes_part()) asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(object) : "memory");
    }
    __device__ __forceinline__ void receive_last() {
        turn++;
        receive(turn - 1);
    }

    __device__ static void check(const Arguments &arguments) {
        Operation operation(arguments);
        for (u32 round = 0; operation.takes_part() && round < 64; round++) {
            delay((operation.rank * 7 + round * 5) % 32);
            operation.run();
        }
        operation.finish(arguments);
    }
};

template <>
constexpr Meets syncscope::MEETS<Operation> = Meets::CLUSTER;

SYNCSCOPE_CLUSTER_KERNELS_ON(Repeated, Partly)
