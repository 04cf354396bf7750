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

    // The library's own text: it asks for a result and names no space, so the compiler makes no reduction of it.
    __device__ __forceinline__ static void add(char *target, u32 value) {
#define SYNCSCOPE_ADD(type, constraint, word)              \
    word old;                                              \
    asm volatile("{ atom.add.noftz." type " %0,[%1],%2; }" \
                 : "=" constraint(old)                     \
                 : "l"(target), constraint((word)value)    \
                 : "memory")
        if constexpr (KIND == ADD_F16X2) {
            SYNCSCOPE_ADD("f16x2", "r", u32);
        }
        if constexpr (KIND == ADD_F16) {
            SYNCSCOPE_ADD("f16", "h", unsigned short);
        }
#if __CUDA_ARCH__ >= 900
        if constexpr (KIND == ADD_BF16X2) {
            SYNCSCOPE_ADD("bf16x2", "r", u32);
        }
        if constexpr (KIND == ADD_BF16) {
            SYNCSCOPE_ADD("bf16", "h", unsigned short);
        }
#endif
#undef SYNCSCOPE_ADD
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
