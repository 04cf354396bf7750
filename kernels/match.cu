// Comparison of values within a warp (gpu.match).
//
// VALUE is an integer of the compared size; the type of the bits does not matter. KIND selects the comparison.
// DEPENDENCE selects what connects one comparison with the next.
#include "harness.cuh"

using Arguments = RegisterArguments;

using Value = VALUE;

enum Kind { ANY, ALL };

enum Dependence {
    BY_VALUE,  // the result is the next value
    OF_FOUR,   // the result is the fourth value after it, so that four comparisons are under way
    BY_MASK    // the result is the next mask, as in the paper; a full mask is no operand of MATCH.ALL
};

constexpr u32 EVERY_LANE = 0xffffffffu;
constexpr int UNDER_WAY = DEPENDENCE == OF_FOUR ? 4 : 1;

struct Operation {
    Value values[UNDER_WAY];
    u32 mask;

    // As in the paper, two lanes of a full warp have the same value. But if the result of ALL is the next mask, all
    // lanes have the value 0, which only the run shows: a mask without the lane itself is undefined.
    __device__ __forceinline__ explicit Operation(const Arguments &arguments) : values(), mask(EVERY_LANE) {
        const bool agree = KIND == ALL && DEPENDENCE == BY_MASK;
        for (Value &value : values)
            value = threadIdx.x % 16 * (agree ? arguments.opaque_one - 1 : arguments.opaque_one);
    }

    // A mask of the lanes with the same value (ANY), or of all lanes if they agree and none if not (ALL).
    __device__ __forceinline__ static u32 match(u32 mask, Value value) {
        int agree;
        return KIND == ANY ? __match_any_sync(mask, value) : __match_all_sync(mask, value, &agree);
    }

    // Lanes with the same value have the same result, so comparing results gives the same answer as comparing values.
    __device__ __forceinline__ void run() {
        if constexpr (DEPENDENCE == BY_MASK) {
            mask = match(mask, values[0]);
        } else {
            const u32 result = match(EVERY_LANE, values[0]);
#pragma unroll
            for (int older = 0; older + 1 < UNDER_WAY; older++) values[older] = values[older + 1];
            values[UNDER_WAY - 1] = result;
        }
    }

    // The result if every `period`th lane has the same value.
    __device__ static u32 result_of(u32 period) {
        const u32 lanes = warp_lanes(), lane = threadIdx.x & 31;
        u32 same = 0;
        for (u32 other = lane % period; other < lanes; other += period) same |= 1u << other;
        if constexpr (KIND == ANY) return same;
        return same == 0xffffffffu >> (32 - lanes) ? same : 0;
    }

    __device__ __forceinline__ void finish(const Arguments &arguments) {
        Value left = 0;
        for (Value value : values) left += value;
        static_cast<Value *>(arguments.memory)[grid_thread()] = DEPENDENCE == BY_MASK ? mask : left;
    }

    // What a launch leaves. If the lanes did not agree, all had the result 0 from the second comparison on and agreed.
    __device__ static Value settled() { return UNDER_WAY * (Value)result_of(KIND == ANY ? 16 : 1); }

    // Checks what the last launch left. Then compares values that are equal in every lane, in every second lane, and so
    // on.
    __device__ static void check(const Arguments &arguments) {
        const Value left = static_cast<const Value *>(arguments.memory)[grid_thread()];
        if (left != settled()) report_mismatch(arguments, settled(), left);
        // The upper half must be compared too.
        constexpr Value SPREAD = ~(Value)0 / 63;
        for (u32 period = 1; period <= 32; period *= 2) {
            const u32 found = match(EVERY_LANE, threadIdx.x % period * SPREAD);
            if (found != result_of(period)) report_mismatch(arguments, result_of(period), found);
        }
    }
};

SYNCSCOPE_KERNELS
