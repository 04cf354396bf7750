// Pauses of a thread that answers another one.
//
// Two threads that answer each other at once meet the same point between two polls each time: one instruction more can
// cost a whole poll, or none (H200: 1,920 or 2,390 cycles a round trip, by the instruction that sets the flag). A
// program works between two hand-offs, for a time that varies. So one thread pauses for up to some polls, and the time
// is left out where a loop is timed as a whole, without a window.
#pragma once
#include "harness.cuh"

namespace syncscope {

struct Pauses {
    u32 cycles = 0;

    // The number selects the length, up to 1,023 cycles.
    __device__ __forceinline__ void pause(u32 number) {
        const u32 start = read_clock_low(), length = number * 2654435761u >> 22;
        u32 now;
        do now = read_clock_low();
        while (now - start < length);
        cycles += now - start;
    }

    // How long all pauses were since the last question.
    __device__ __forceinline__ u64 taken() {
        const u32 all = cycles;
        cycles = 0;
        return all;
    }
};

}  // namespace syncscope
