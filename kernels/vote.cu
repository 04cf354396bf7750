// Votes of a warp (gpu.vote).
//
// KIND selects the vote. With DEPENDENT, each vote is about the result of the one before. Otherwise the votes are
// independent, and their results are added up.
#include "harness.cuh"

using Arguments = RegisterArguments;

enum Kind { ALL, ANY, BALLOT };

struct Operation {
    u32 value;
    u32 turn;
    u32 sum;

    // Dependent votes: all lanes vote yes, which only the run shows, and the result is yes again. Independent votes: in
    // turn t, lane t votes no and the others vote yes.
    __device__ __forceinline__ explicit Operation(const Arguments &arguments)
        : value(DEPENDENT ? arguments.opaque_one : threadIdx.x & 31), turn(0), sum(0) {}

    // The mask may contain lanes that do not exist; they do not vote.
    __device__ __forceinline__ static u32 vote(bool opinion) {
        constexpr u32 EVERY_LANE = 0xffffffffu;
        if constexpr (KIND == ALL) return __all_sync(EVERY_LANE, opinion);
        if constexpr (KIND == ANY) return __any_sync(EVERY_LANE, opinion);
        return __ballot_sync(EVERY_LANE, opinion);
    }

    __device__ __forceinline__ void run() {
        if constexpr (DEPENDENT) {
            value = vote(value);
        } else {
            sum += vote(value != turn);
            turn++;
        }
    }

    // The result of a vote in which the lanes of this mask say yes.
    __device__ static u32 result_of(u32 yes) {
        const u32 there = 0xffffffffu >> (32 - warp_lanes());
        if constexpr (KIND == ALL) return (yes & there) == there;
        if constexpr (KIND == ANY) return (yes & there) != 0;
        return yes & there;
    }

    // The sum of so many independent votes, more than a warp has lanes.
    __device__ static u32 sum_of(u32 votes) {
        const u32 lanes = warp_lanes();
        u32 sum = (votes - lanes) * result_of(~0u);
        for (u32 turn = 0; turn < lanes; turn++) sum += result_of(~(1u << turn));
        return sum;
    }

    __device__ __forceinline__ void finish(const Arguments &arguments) {
        static_cast<u32 *>(arguments.memory)[grid_thread()] = DEPENDENT ? value : sum;
    }

    // Checks what the last launch left, and votes in which the lanes do not agree.
    __device__ static void check(const Arguments &arguments) {
        const u32 left = static_cast<const u32 *>(arguments.memory)[grid_thread()], lane = threadIdx.x & 31;
        const u32 expected = DEPENDENT ? result_of(~0u) : sum_of((u32)arguments.last_operations);
        if (left != expected) report_mismatch(arguments, expected, left);
        const u32 patterns[] = {0, 1, 0x80000000u, 0x55555555u, 0xfffffffeu, ~0u};
        for (u32 yes : patterns) {
            const u32 found = vote(yes >> lane & 1);
            if (found != result_of(yes)) report_mismatch(arguments, result_of(yes), found);
        }
    }
};

SYNCSCOPE_KERNELS
