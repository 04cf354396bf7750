// Votes of a warp (gpu.vote).
//
// KIND selects the vote. Each vote is about the result of one before: of the last one with DEPENDENT, otherwise of the
// fourth before it, so that four are under way. A vote about the same as another one would not stay in the code, and a
// condition made for each vote alone, or a sum of the results, would be more instructions than the vote.
#include "harness.cuh"

using Arguments = RegisterArguments;

enum Kind { ALL, ANY, BALLOT };

// Of `all` and `any` it stays in a predicate.
template <int KIND>
struct ResultOf {
    using Type = bool;
};
template <>
struct ResultOf<BALLOT> {
    using Type = u32;
};
using Result = ResultOf<KIND>::Type;

constexpr int UNDER_WAY = DEPENDENT ? 1 : 4;

struct Operation {
    Result results[UNDER_WAY];
    u32 own;

    // All lanes vote yes, which only the run shows, and the result is yes again.
    __device__ __forceinline__ explicit Operation(const Arguments &arguments)
        : results(), own(arguments.opaque_one << (threadIdx.x & 31)) {
        for (Result &result : results) result = KIND == BALLOT ? ~0u * arguments.opaque_one : arguments.opaque_one;
    }

    // The mask may contain lanes that do not exist; they do not vote.
    __device__ __forceinline__ static u32 vote(bool opinion) {
        constexpr u32 EVERY_LANE = 0xffffffffu;
        if constexpr (KIND == ALL) return __all_sync(EVERY_LANE, opinion);
        if constexpr (KIND == ANY) return __any_sync(EVERY_LANE, opinion);
        return __ballot_sync(EVERY_LANE, opinion);
    }

    // Of a ballot under way a lane takes its own bit. If all lanes made the same of it, the compiler would count some
    // votes in registers of the warp.
    __device__ __forceinline__ void run() {
        const bool opinion = KIND == BALLOT && !DEPENDENT ? results[0] & own : results[0];
        const Result result = vote(opinion);
#pragma unroll
        for (int older = 0; older + 1 < UNDER_WAY; older++) results[older] = results[older + 1];
        results[UNDER_WAY - 1] = result;
    }

    // The result of a vote in which the lanes of this mask say yes.
    __device__ static u32 result_of(u32 yes) {
        const u32 there = 0xffffffffu >> (32 - warp_lanes());
        if constexpr (KIND == ALL) return (yes & there) == there;
        if constexpr (KIND == ANY) return (yes & there) != 0;
        return yes & there;
    }

    // The last results.
    __device__ __forceinline__ u32 left() const {
        u32 sum = 0;
        for (u32 result : results) sum += result;
        return sum;
    }

    __device__ __forceinline__ void finish(const Arguments &arguments) {
        static_cast<u32 *>(arguments.memory)[grid_thread()] = left();
    }

    // Checks what the last launch left, and votes in which the lanes do not agree.
    __device__ static void check(const Arguments &arguments) {
        const u32 found = static_cast<const u32 *>(arguments.memory)[grid_thread()], lane = threadIdx.x & 31;
        const u32 expected = UNDER_WAY * result_of(~0u);
        if (found != expected) report_mismatch(arguments, expected, found);
        const u32 patterns[] = {0, 1, 0x80000000u, 0x55555555u, 0xfffffffeu, ~0u};
        for (u32 yes : patterns) {
            const u32 found = vote(yes >> lane & 1);
            if (found != result_of(yes)) report_mismatch(arguments, result_of(yes), found);
        }
    }
};

SYNCSCOPE_KERNELS
