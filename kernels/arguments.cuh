// What host and kernels share: the arguments of each kind of kernel, and what kernels leave in memory.
//
// `launch/arguments.rs` holds the same structures. `layouts.cuh`, which the host writes from its own structures,
// asserts that sizes and offsets are the same. A file with kernels says with `using Arguments = ...` of which kind they
// are.
#pragma once

namespace syncscope {

using u32 = unsigned int;
using u64 = unsigned long long;

// Elapsed cycles of one warp's threads, by the clock of its multiprocessor.
struct Warp {
    u64 slowest;
    u64 fastest;
    u32 chunks;  // the fewest runs of the loop within the window that a thread had
    u32 late;    // how long after the beginning of the window the last thread began to work
};

// Where the blocks of a grid wait until all of them run. Zero before the first launch.
struct Gate {
    volatile u64 opened;   // when it opened last, by the global timer
    volatile u32 arrived;  // blocks since then
    u32 reserved;
};

// The length of the same span by two clocks.
struct Rate {
    u64 nanoseconds;  // 0 if the global timer did not step within the bound of the search
    u64 cycles;
};

// What a check found.
struct Finding {
    u32 mismatches;
    u32 thread;    // one of the threads concerned
    u64 expected;  // see `bits` in harness.cuh
    u64 found;
};

// What every timed loop needs.
struct LoopArguments {
    void *memory;               // the variables the operation works on, cleared before the first launch of a case
    Warp *warps;                // one for each warp of the grid at each memory offset
    Rate *rate;                 // one for the grid
    Finding *finding;           // of the kernel `check`, cleared before
    const volatile u32 *abort;  // in host memory; the host sets it to end a spin that lasts too long
    Gate *gate;
    u64 offset_distance;  // bytes from one memory offset to the next
    u32 offsets;          // memory offsets that one launch uses, one after the other; 0 is 1
    u32 iterations;
    u32 skip_warm_up;        // without a window: 0: the loop runs once before it is timed; 1: it does not
    u32 window;              // length in cycles; 0: there is none
    u32 run_in;              // cycles between the gate and the window
    u32 run_out;             // cycles after the window in which the threads go on
    u32 cycles_per_1024_ns;  // of the multiprocessors' clock
};

// Operations with a value for each thread, mostly on variables in memory.
struct VariableArguments : LoopArguments {
    u64 total_operations;  // `check`: operations of each thread since the memory was cleared
    u64 opaque_zero;       // 0, as wide as the widest variable
    u32 opaque_one;        // 1
    u32 stride;            // elements between the variables of neighbouring threads; 0: one variable for all
    u32 value_scale;       // a thread's value is value_scale * (its number in the grid) + value_bias
    u32 value_bias;
};

// Operations on registers, and barriers of a warp, a block or a cluster.
struct RegisterArguments : LoopArguments {
    u64 last_operations;  // `check`: operations of each thread in the last launch
    u32 opaque_one;       // 1
};

// Barriers of a grid and of the grids of several devices.
struct GridBarrierArguments : LoopArguments {
    u64 barriers_passed;  // by each thread at each memory offset of this launch, since the memory was cleared
    u32 generation;       // uses of memory offsets by all launches before; makes every value that is checked a new one
    u32 slot;             // number of the first memory offset
    u32 slot_distance;    // from the number of one memory offset to that of the next
};

// A flag that a CPU thread and a GPU thread pass to each other.
struct HybridFlagArguments : LoopArguments {
    u32 asks_questions;  // `check`: 1: round trips carry a question and its answer; 0: they are timed one by one
};

// One launch between two barriers of the host.
struct HostBarrierArguments {
    u32 phase;  // launches of this kernel before
};

// One launch of a chain of launches.
struct LaunchChainArguments {
    u32 *phases;       // `check`: two arrays with the last phase of each block
    Finding *finding;  // `check`: cleared before
    u32 *turn;         // in a loop of a graph: kernels, or for `check` blocks, that have ended; the state of a barrier
    u64 condition;     // in a conditional node: its handle
    u32 *arrays;       // two arrays of `words` for each block, which kernels sweep
    u32 parts;         // of the work of a kernel
    u32 cycles;        // how long a part lasts
    u32 phase;         // number of the launch, from 1; 0 in a loop of a graph
    u32 turns;         // in a loop: how many kernels or parts run
    u32 words;         // of each block in an array
    u32 sweeps;        // of a part over an array
};

// `offsetof` of <cstddef>, which NVRTC does not have: the compiler's own expression for it.
#define SYNCSCOPE_OFFSET_OF(Structure, field) __INTADDR__(&((Structure *)0)->field)
#include "layouts.cuh"

}  // namespace syncscope

// The code of users has names of its own.
#ifndef SYNCSCOPE_OWN
using namespace syncscope;
#endif
