// Comparison of values within a warp (gpu.match), each depending on the one before.
//
// VALUE is an integer of the compared size; the type of the bits does not matter. KIND selects the comparison.
#include "harness.cuh"

using Arguments = RegisterArguments;

using Value = VALUE;

enum Kind { ANY, ALL };

struct Operation {
    Value value;

    // As in the paper, two lanes of a full warp have the same value.
    __device__ __forceinline__ explicit Operation(const Arguments &) : value(threadIdx.x % 16) {}

    // A mask of the lanes with the same value (ANY), or of all lanes if they agree and none if not (ALL).
    __device__ __forceinline__ static u32 match(Value value) {
        int agree;
        return KIND == ANY ? __match_any_sync(0xffffffffu, value) : __match_all_sync(0xffffffffu, value, &agree);
    }

    // Lanes with the same value have the same result, so comparing results gives the same answer as comparing values.
    __device__ __forceinline__ void run() { value = match(value); }

    // The result if every `period`th lane has the same value.
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

    // Checks what the last launch left. (If the lanes did not agree, all had the result 0 from the second comparison on
    // and agreed.) Then compares values that are equal in every lane, in every second lane, and so on.
    __device__ static void check(const Arguments &arguments) {
        const Value left = static_cast<const Value *>(arguments.memory)[grid_thread()];
        const Value settled = result_of(KIND == ANY ? 16 : 1);
        if (left != settled) report_mismatch(arguments, settled, left);
        // The upper half must be compared too.
        constexpr Value SPREAD = ~(Value)0 / 63;
        for (u32 period = 1; period <= 32; period *= 2) {
            const u32 found = match(threadIdx.x % period * SPREAD);
            if (found != result_of(period)) report_mismatch(arguments, result_of(period), found);
        }
    }
};

SYNCSCOPE_KERNELS
