// Votes of a warp (gpu.vote), each depending on the one before.
//
// KIND selects the vote.
#include "harness.cuh"

using Arguments = RegisterArguments;

enum Kind { ALL, ANY, BALLOT };

struct Operation {
    u32 value;

    // The vote of each lane is known only at run time. All lanes vote yes, and the result is yes again.
    __device__ __forceinline__ explicit Operation(const Arguments &arguments) : value(arguments.opaque_one) {}

    // Written in assembly, so that the compiler never removes it. The mask may contain lanes that do not exist; they do
    // not vote.
    __device__ __forceinline__ static u32 vote(u32 opinion) {
        u32 result;
        if constexpr (KIND == ALL) {
            asm volatile(
                "{.reg .pred opinion, result; setp.ne.u32 opinion, %1, 0; vote.sync.all.pred result, opinion, -1;"
                " selp.u32 %0, 1, 0, result;}"
                : "=r"(result)
                : "r"(opinion));
        } else if constexpr (KIND == ANY) {
            asm volatile(
                "{.reg .pred opinion, result; setp.ne.u32 opinion, %1, 0; vote.sync.any.pred result, opinion, -1;"
                " selp.u32 %0, 1, 0, result;}"
                : "=r"(result)
                : "r"(opinion));
        } else {
            asm volatile("{.reg .pred opinion; setp.ne.u32 opinion, %1, 0; vote.sync.ballot.b32 %0, opinion, -1;}"
                         : "=r"(result)
                         : "r"(opinion));
        }
        return result;
    }

    __device__ __forceinline__ void run() { value = vote(value); }

    // The result of a vote in which the lanes of this mask say yes.
    __device__ static u32 result_of(u32 yes) {
        const u32 there = 0xffffffffu >> (32 - warp_lanes());
        if constexpr (KIND == ALL) return (yes & there) == there;
        if constexpr (KIND == ANY) return (yes & there) != 0;
        return yes & there;
    }

    __device__ __forceinline__ void finish(const Arguments &arguments) {
        static_cast<u32 *>(arguments.memory)[grid_thread()] = value;
    }

    // Checks what the last launch left, and votes in which the lanes do not agree.
    __device__ static void check(const Arguments &arguments) {
        const u32 left = static_cast<const u32 *>(arguments.memory)[grid_thread()], lane = threadIdx.x & 31;
        if (left != result_of(~0u)) report_mismatch(arguments, result_of(~0u), left);
        const u32 patterns[] = {0, 1, 0x80000000u, 0x55555555u, 0xfffffffeu, ~0u};
        for (u32 yes : patterns) {
            const u32 found = vote(yes >> lane & 1);
            if (found != result_of(yes)) report_mismatch(arguments, result_of(yes), found);
        }
    }
};

SYNCSCOPE_KERNELS
