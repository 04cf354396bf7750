// Atomic additions of floating-point numbers of 16 bits, one or two in a word (gpu.atomic.add_f16 and others), as
// `atomicAdd` of cuda_fp16.h and cuda_bf16.h has them.
//
// KIND selects the type. Threads add one.
#include "harness.cuh"

using Arguments = VariableArguments;

enum Kind { ADD_F16, ADD_F16X2, ADD_BF16, ADD_BF16X2 };

constexpr bool IS_PACKED = KIND == ADD_F16X2 || KIND == ADD_BF16X2;
constexpr bool IS_BF16 = KIND == ADD_BF16 || KIND == ADD_BF16X2;
constexpr u32 BYTES = IS_PACKED ? 4 : 2;

// The bits of small whole numbers.
__device__ __forceinline__ u32 bits_of(u32 number) {
    const u32 wide = __float_as_uint((float)number);
    if (IS_BF16 || number == 0) return wide >> 16;
    return (wide >> 23) - 112 << 10 | wide >> 13 & 0x3ff;
}

struct Operation {
    char *target;
    u32 one;

    __device__ __forceinline__ explicit Operation(const Arguments &arguments)
        : target(static_cast<char *>(arguments.memory) + (u64)arguments.stride * grid_thread() * BYTES),
          one(bits_of(arguments.opaque_one) * (IS_PACKED ? 0x10001 : 1)) {}

    __device__ __forceinline__ void run() const { add(target, one); }

    __device__ __forceinline__ static void add(char *target, u32 value) {
        if constexpr (KIND == ADD_F16X2) {
            asm volatile("red.relaxed.gpu.global.add.noftz.f16x2 [%0], %1;" ::"l"(target), "r"(value) : "memory");
        }
        if constexpr (KIND == ADD_F16) {
            asm volatile("red.relaxed.gpu.global.add.noftz.f16 [%0], %1;" ::"l"(target), "h"((unsigned short)value)
                         : "memory");
        }
#if __CUDA_ARCH__ >= 900
        if constexpr (KIND == ADD_BF16X2) {
            asm volatile("red.relaxed.gpu.global.add.noftz.bf16x2 [%0], %1;" ::"l"(target), "r"(value) : "memory");
        }
        if constexpr (KIND == ADD_BF16) {
            asm volatile("red.relaxed.gpu.global.add.noftz.bf16 [%0], %1;" ::"l"(target), "h"((unsigned short)value)
                         : "memory");
        }
#endif
    }

    __device__ __forceinline__ void finish(const Arguments &) const {}

    // Some threads of a block add one to one variable: so few that the sum is exact.
    __device__ static void check(const Arguments &arguments) {
        constexpr u32 MOST = 128;
        u32 *const variable = static_cast<u32 *>(arguments.memory) + blockIdx.x;
        if (threadIdx.x == 0) *variable = 0;
        __syncthreads();
        if (threadIdx.x < MOST) add(reinterpret_cast<char *>(variable), Operation(arguments).one);
        __syncthreads();
        if (threadIdx.x != 0) return;
        const u32 found = load_there(variable), expected = bits_of(min(MOST, blockDim.x)) * (IS_PACKED ? 0x10001 : 1);
        if (found != expected) report_mismatch(arguments, expected, found);
    }

    __device__ static u32 load_there(const u32 *word) { return *static_cast<const volatile u32 *>(word); }
};

SYNCSCOPE_KERNELS
