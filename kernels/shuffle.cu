// Shuffles: exchange of registers within a warp (gpu.shuffle), each depending on the one before.
//
// VALUE is the exchanged type; 64 bits take two instructions. KIND selects from which lane each lane reads. Warps are
// full or have a power of two of lanes. With OPAQUE, the width of DOWN and the distance of XOR are in registers, and no
// lane reads from one that does not exist.
#include "harness.cuh"

using Arguments = RegisterArguments;

using Value = VALUE;

enum Kind { IDX, UP, DOWN, XOR, THROUGH_SHARED };

constexpr bool IS_BY_LANE = KIND == IDX || KIND == THROUGH_SHARED;

struct Operation {
    Value value;
    u32 lanes;
    u32 source;  // IDX: the lane; XOR: the distance

    // IDX: the paper reads from lane (lane + 1) % 32. In a block of fewer than 32 threads that lane may not exist, and
    // the value is undefined. Reading only from existing lanes costs the same and can be checked.
    __device__ __forceinline__ explicit Operation(const Arguments &)
        : value((Value)grid_thread()),
          lanes(warp_lanes()),
          source(IS_BY_LANE ? ((threadIdx.x & 31) + 1) % lanes : min(1u, lanes - 1)) {}

    // The mask may contain lanes that do not exist: the instruction waits for those of the mask that have not exited
    // (PTX ISA, shfl.sync), and a constant mask of all lanes needs no other instruction.
    __device__ __forceinline__ void run() {
        constexpr u32 ALL = 0xffffffffu;
        if constexpr (KIND == IDX) value = __shfl_sync(ALL, value, source);
        if constexpr (KIND == THROUGH_SHARED) exchange();
        if constexpr (KIND == UP) value = __shfl_up_sync(ALL, value, 1);
        if constexpr (KIND == DOWN) {
            value = OPAQUE ? __shfl_down_sync(ALL, value, 1, lanes) : __shfl_down_sync(ALL, value, 1);
        }
        if constexpr (KIND == XOR) value = __shfl_xor_sync(ALL, value, OPAQUE ? source : 1);
    }

    // Through shared memory: the second barrier keeps the word until it has been read.
    __device__ __forceinline__ void exchange() {
        __shared__ Value words[KIND == THROUGH_SHARED ? 1024 : 1];
        words[threadIdx.x] = value;
        __syncwarp();
        value = words[(threadIdx.x & ~31u) + source];
        __syncwarp();
    }

    // Whether the value of a lane is defined after so many exchanges: it must not come from a lane that does not exist.
    __device__ static bool is_defined(u64 lane, u64 lanes, u64 exchanges) {
        if (OPAQUE || lanes == 32) return true;
        if constexpr (KIND == DOWN) return lane + exchanges < lanes;
        if constexpr (KIND == XOR) return lanes > 1;
        return true;
    }

    // The lane whose original value is in `lane` after so many exchanges. A lane whose source is outside keeps its own
    // value.
    __device__ static u64 origin(u64 lane, u64 lanes, u64 exchanges) {
        if constexpr (IS_BY_LANE) return (lane + exchanges) % lanes;
        if constexpr (KIND == UP) return lane - min(lane, exchanges);
        if constexpr (KIND == DOWN) return min(lane + exchanges, lanes - 1);
        return lanes == 1 ? lane : lane ^ (exchanges & 1);
    }

    __device__ __forceinline__ void finish(const Arguments &arguments) {
        static_cast<Value *>(arguments.memory)[grid_thread()] = value;
    }

    __device__ static void verify(const Arguments &arguments, u64 exchanges, Value found) {
        const u32 lane = threadIdx.x & 31;
        if (!is_defined(lane, warp_lanes(), exchanges)) return;
        const Value expected = (Value)(grid_thread() - lane + origin(lane, warp_lanes(), exchanges));
        if (found != expected) report_mismatch(arguments, expected, found);
    }

    // Checks what the last launch left. The number of its exchanges is large and even, so three more are checked one by
    // one.
    __device__ static void check(const Arguments &arguments) {
        verify(arguments, arguments.last_operations, static_cast<const Value *>(arguments.memory)[grid_thread()]);
        Operation operation(arguments);
        for (u32 exchanges = 1; exchanges <= 3; exchanges++) {
            operation.run();
            verify(arguments, exchanges, operation.value);
        }
    }
};

SYNCSCOPE_KERNELS
