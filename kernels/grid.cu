// Barriers of all threads of a grid (gpu.grid).
//
// KIND selects the barrier, SYNCSCOPE_RELAXED=1 the one that orders no memory accesses. ABSENT=1 is a fault for tests:
// the last block does not arrive.
#include "grid_kinds.cuh"

using Arguments = GridBarrierArguments;

#ifndef ABSENT
#define ABSENT 0
#endif

using Barrier = BarrierOf<KIND, ABSENT != 0>;

SYNCSCOPE_GRID_BARRIERS(Barrier)
