// Comparison of values within a warp (gpu.match), each depending on the one before.
//
// VALUE is an integer of the size compared: what the bits stand for does not matter. KIND says what is asked.
#include "harness.cuh"

using Arguments = RegisterArguments;

using Value = VALUE;

enum Kind { ANY, ALL };

struct Operation {
    Value value;

    // As in the paper, each value is held by two lanes of a full warp.
    __device__ __forceinline__ explicit Operation(const Arguments &) : value(threadIdx.x % 16) {}

    // The lanes with the same value, or all lanes if they agree and none if not.
    __device__ __forceinline__ static u32 match(Value value) {
        int agree;
        return KIND == ANY ? __match_any_sync(0xffffffffu, value) : __match_all_sync(0xffffffffu, value, &agree);
    }

    // The lanes that had one value have one result: comparing results instead of values gives the same answer.
    __device__ __forceinline__ void run() { value = match(value); }

    // The result where each value is held by every `period`th lane.
    __device__ static u32 result_of(u32 period) {
        const u32 lanes = warp_lanes(), lane = threadIdx.x & 31;
        u32 same = 0;
        for (u32 other = lane % period; other < lanes; other += period) same |= 1u << other;
        if constexpr (KIND == ANY) return same;
        return same == 0xffffffffu >> (32 - lanes) ? same : 0;
    }

    __device__ __forceinline__ void finish(const Arguments &arguments) {
        static_cast<Value *>(arguments.memory)[grid_thread()] = value;
    }

    // What the last launch left (where lanes did not agree, they agreed from the second time on: on nothing), and
    // values held by every lane, every second one, ...
    __device__ static void check(const Arguments &arguments) {
        const Value left = static_cast<const Value *>(arguments.memory)[grid_thread()];
        const Value settled = result_of(KIND == ANY ? 16 : 1);
        if (left != settled) report_mismatch(arguments, settled, left);
        // The upper half matters too.
        constexpr Value SPREAD = ~(Value)0 / 63;
        for (u32 period = 1; period <= 32; period *= 2) {
            const u32 found = match(threadIdx.x % period * SPREAD);
            if (found != result_of(period)) report_mismatch(arguments, result_of(period), found);
        }
    }
};

SYNCSCOPE_KERNELS
