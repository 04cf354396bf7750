// CUB's reduction of a device beside those of `reduction.cu` (`gpu.reduction.cub`).
//
// cub::DeviceReduce is a host function that launches two kernels, and NVRTC compiles neither host functions nor CUB's
// tables of tunings. These kernels have the bodies of CUB's two (cub/device/dispatch/kernels/reduce.cuh): agent and
// distribution of the tiles are CUB's, the tuning is that of its table for i32 (`Policy600`, which holds for elements
// of four bytes on every later architecture), and the host chooses the grid by CUB's rule. Needs the headers of CUDA
// and CCCL.
#include <cub/device/dispatch/kernels/reduce.cuh>

using u32 = unsigned int;
using u64 = unsigned long long;

// As in `reduction.cu`.
struct ReductionArguments {
    int *data;
    int *partials;
    int *result;
    u32 *barrier;
    const volatile u32 *abort;
    u64 elements;
    u64 barriers_passed;
    u32 count;  // `combine`: partial results; `reduce`: blocks that the grid may have
    u32 unused;
};

static_assert(sizeof(ReductionArguments) == 64, "the host's structure must be this");

struct Max {
    static constexpr int IDENTITY = -2147483647 - 1;
    __device__ __forceinline__ int operator()(int a, int b) const { return a > b ? a : b; }
};

struct Sum {
    static constexpr int IDENTITY = 0;
    __device__ __forceinline__ int operator()(int a, int b) const { return (int)((u32)a + (u32)b); }
};

using Op = OPERATION;
using Offset = u32;
using Reduce = cub::AgentReducePolicy<256, 16, int, 4, cub::BLOCK_REDUCE_WARP_REDUCTIONS, cub::LOAD_LDG>;
using Identity = ::cuda::std::__identity;

constexpr int TILE = Reduce::BLOCK_THREADS * Reduce::ITEMS_PER_THREAD;
static_assert(Reduce::BLOCK_THREADS == 256 && TILE == 4096, "the host chooses the grid by these");

extern "C" __global__ void __launch_bounds__(int(Reduce::BLOCK_THREADS)) reduce(const ReductionArguments arguments) {
    using Agent = cub::detail::reduce::AgentReduce<Reduce, const int *, int *, Offset, Op, int, Identity>;
    __shared__ typename Agent::TempStorage storage;
    cub::GridEvenShare<Offset> share;
    share.DispatchInit((Offset)arguments.elements, (int)arguments.count, TILE);
    const int *const data = arguments.data;
    const int value = Agent(storage, data, Op{}, Identity{}).ConsumeTiles(share);
    if (threadIdx.x == 0) arguments.partials[blockIdx.x] = value;
}

// One block joins the partial results, or reduces a vector of one tile.
__device__ __forceinline__ void join(const int *from, Offset count, int *result) {
    using Agent = cub::detail::reduce::AgentReduce<Reduce, const int *, int *, Offset, Op, int, Identity>;
    __shared__ typename Agent::TempStorage storage;
    const int value = Agent(storage, from, Op{}, Identity{}).ConsumeRange(Offset(0), count);
    if (threadIdx.x == 0) *result = Op{}(Op::IDENTITY, value);
}

extern "C" __global__ void __launch_bounds__(int(Reduce::BLOCK_THREADS), 1)
    combine(const ReductionArguments arguments) {
    join(arguments.partials, arguments.count, arguments.result);
}

extern "C" __global__ void __launch_bounds__(int(Reduce::BLOCK_THREADS), 1) single(const ReductionArguments arguments) {
    join(arguments.data, (Offset)arguments.elements, arguments.result);
}
