// Comparison of values within a warp (gpu.match).
//
// VALUE is an integer of the compared size; the type of the bits does not matter. KIND selects the comparison.
// DEPENDENCE selects what connects one comparison with the next.
#include "harness.cuh"

using Arguments = RegisterArguments;

using Value = VALUE;

enum Kind { ANY, ALL };

enum Dependence {
    NONE,      // the results are added up
    BY_VALUE,  // the result is the next value
    BY_MASK    // the result is the next mask, as in the paper; a full mask is no operand of MATCH.ALL
};

constexpr u32 EVERY_LANE = 0xffffffffu;

struct Operation {
    Value value;
    u32 mask;
    u32 turn;
    u32 sum;

    // As in the paper, two lanes of a full warp have the same value. But if the result of ALL is the next mask, all
    // lanes have the value 0, which only the run shows: a mask without the lane itself is undefined.
    __device__ __forceinline__ explicit Operation(const Arguments &arguments)
        : value(threadIdx.x % 16), mask(EVERY_LANE), turn(0), sum(0) {
        if constexpr (KIND == ALL && DEPENDENCE == BY_MASK) value *= arguments.opaque_one - 1;
    }

    // A mask of the lanes with the same value (ANY), or of all lanes if they agree and none if not (ALL).
    __device__ __forceinline__ static u32 match(u32 mask, Value value) {
        int agree;
        return KIND == ANY ? __match_any_sync(mask, value) : __match_all_sync(mask, value, &agree);
    }

    // BY_VALUE: lanes with the same value have the same result, so comparing results gives the same answer as comparing
    // values. NONE: every turn adds the same number to all values.
    __device__ __forceinline__ void run() {
        if constexpr (DEPENDENCE == NONE) {
            sum += match(EVERY_LANE, value + turn);
            turn++;
        } else if constexpr (DEPENDENCE == BY_MASK) {
            mask = match(mask, value);
        } else {
            value = match(EVERY_LANE, value);
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
        const Value left = DEPENDENCE == NONE ? sum : DEPENDENCE == BY_MASK ? mask : value;
        static_cast<Value *>(arguments.memory)[grid_thread()] = left;
    }

    // What a launch leaves. BY_VALUE: if the lanes did not agree, all had the result 0 from the second comparison on
    // and agreed.
    __device__ static Value settled(const Arguments &arguments) {
        if constexpr (DEPENDENCE == NONE) return (u32)arguments.last_operations * result_of(16);
        return result_of(KIND == ANY ? 16 : 1);
    }

    // Checks what the last launch left. Then compares values that are equal in every lane, in every second lane, and so
    // on.
    __device__ static void check(const Arguments &arguments) {
        const Value left = static_cast<const Value *>(arguments.memory)[grid_thread()];
        if (left != settled(arguments)) report_mismatch(arguments, settled(arguments), left);
        // The upper half must be compared too.
        constexpr Value SPREAD = ~(Value)0 / 63;
        for (u32 period = 1; period <= 32; period *= 2) {
            const u32 found = match(EVERY_LANE, threadIdx.x % period * SPREAD);
            if (found != result_of(period)) report_mismatch(arguments, result_of(period), found);
        }
    }
};

SYNCSCOPE_KERNELS
