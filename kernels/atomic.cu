// Atomic operations (gpu.atomic) on global and on shared memory. The operations on global memory are as in Burtchell
// and Burtscher, IISWC 2024.
//
// VALUE is the type of the variable, KIND the operation, and ATOMIC the CUDA function that does it, which also fixes
// the scope. IN_SHARED_MEMORY is 0 or 1. With RESULT_USED, each operation needs the result of the one before.
// ONE_ADDRESS is 1 if the source shows that all threads use one variable: then the compiler aggregates the values of a
// warp where it can. OPERAND selects the values. BINS is 0, or how many variables the threads use in turn, as a
// histogram does.
//
// With SYNCSCOPE_ORDER and SYNCSCOPE_SCOPE, ATOMIC is one of the functions `ordered` and `referred` below: the
// instruction of PTX in this order and scope, and `cuda::atomic_ref` in both.
#include "harness.cuh"

using Arguments = VariableArguments;

using Value = VALUE;
#undef VALUE
#ifdef SYNCSCOPE_REFERRED
#include <cuda/atomic>
#endif

#ifndef BINS
#define BINS 0
#endif
constexpr bool HAS_BINS = BINS != 0;
constexpr u32 MOST_BINS = HAS_BINS ? BINS : ~0u;

enum Kind { ADD, SUB, MIN, MAX, AND, OR, XOR, EXCHANGE, CAS_PASS, CAS_FAIL };

enum Operand {
    OF_THREAD,  // a number for each thread, the same each time
    VARYING,    // a number for each thread, another one each time as far as the compiler knows
    CONSTANT,   // 1
    REGISTERS   // what is compared and exchanged is in registers, not in constants
};

constexpr bool SUMS = KIND == ADD || KIND == SUB;
constexpr bool COMPARES = KIND == CAS_PASS || KIND == CAS_FAIL;

// The variables of the block, if they are in shared memory.
constexpr u32 SHARED_BYTES = IN_SHARED_MEMORY ? 32 * 1024 : 8;
__shared__ u64 shared_memory[SHARED_BYTES / 8];

#ifdef SYNCSCOPE_ORDER
// Architectures without clusters do not know the scope, and the host refuses to measure it there.
#if __CUDA_ARCH__ >= 900
#define SCOPE_OF_CLUSTER cluster
#else
#define SCOPE_OF_CLUSTER gpu
#endif
#define TEXT_OF(text) #text
#define TEXT(text) TEXT_OF(text)
#define PTX(name, rest) TEXT(name) "." TEXT(SYNCSCOPE_ORDER) "." TEXT(SYNCSCOPE_SCOPE) ".global." rest

// Sequentially consistent: the fence in front and an operation that acquires, as libcu++ has it.
__device__ __forceinline__ void fence_before() {
#ifdef SYNCSCOPE_FENCED
    asm volatile("fence.sc." TEXT(SYNCSCOPE_SCOPE) ";" ::: "memory");
#endif
}

// An addition whose result nothing needs and which acquires nothing is a reduction.
__device__ __forceinline__ u32 ordered(int *target, int value) {
    u32 old = 0;
    fence_before();
    if constexpr (KIND == EXCHANGE) {
        asm volatile(PTX(atom, "exch.b32 %0, [%1], %2;") : "=r"(old) : "l"(target), "r"(value) : "memory");
    } else {
#ifdef SYNCSCOPE_REDUCES
        asm volatile(PTX(red, "add.s32 [%0], %1;")::"l"(target), "r"(value) : "memory");
#else
        asm volatile(PTX(atom, "add.s32 %0, [%1], %2;") : "=r"(old) : "l"(target), "r"(value) : "memory");
#endif
    }
    return old;
}

__device__ __forceinline__ float ordered(float *target, float value) {
    float old;
    fence_before();
    asm volatile(PTX(atom, "add.f32 %0, [%1], %2;") : "=f"(old) : "l"(target), "f"(value) : "memory");
    return old;
}

__device__ __forceinline__ u32 ordered(int *target, int compare, int value) {
    u32 old;
    fence_before();
    asm volatile(PTX(atom, "cas.b32 %0, [%1], %2, %3;") : "=r"(old) : "l"(target), "r"(compare), "r"(value) : "memory");
    return old;
}
#endif

#ifdef SYNCSCOPE_REFERRED
template <typename Value>
__device__ __forceinline__ Value referred(Value *target, Value value) {
    return cuda::atomic_ref<Value, cuda::SYNCSCOPE_SCOPE>(*target).fetch_add(value, cuda::SYNCSCOPE_ORDER);
}
#endif

template <typename Value>
__device__ __forceinline__ Value apply(Value *target, Value compare, Value value) {
    if constexpr (COMPARES) {
        return ATOMIC(target, compare, value);
    } else {
        return ATOMIC(target, value);
    }
}

// Returns `value`, but only when `old` is known, at the cost of one instruction. `zero` is 0, which the compiler does
// not know.
__device__ __forceinline__ int after(int old, int value, u32 zero) { return old & (int)zero | value; }
__device__ __forceinline__ u32 after(u32 old, u32 value, u32 zero) { return old & zero | value; }
__device__ __forceinline__ u64 after(u64 old, u64 value, u32 zero) { return old & (u64)zero << 32 | value; }
__device__ __forceinline__ float after(float old, float value, u32 zero) { return fmaf(old, (float)zero, value); }
__device__ __forceinline__ double after(double old, double value, u32 zero) { return fma(old, (double)zero, value); }

// Makes the compiler keep a value.
__device__ __forceinline__ void keep(u32 value) { asm volatile("" ::"r"(value)); }
__device__ __forceinline__ void keep(int value) { asm volatile("" ::"r"(value)); }
__device__ __forceinline__ void keep(u64 value) { asm volatile("" ::"l"(value)); }
__device__ __forceinline__ void keep(float value) { asm volatile("" ::"f"(value)); }
__device__ __forceinline__ void keep(double value) { asm volatile("" ::"d"(value)); }

// The new value of a variable, for operations whose result does not depend on the order of the threads.
template <typename Value>
__device__ Value combined(Value variable, Value operand) {
    if constexpr (KIND == MIN) return min(variable, operand);
    if constexpr (KIND == MAX) return max(variable, operand);
    if constexpr (KIND == AND) return variable & operand;
    if constexpr (KIND == OR) return variable | operand;
    if constexpr (KIND == XOR) return variable ^ operand;
    return variable;
}

struct Operation {
    Value *target;
    Value compare;
    Value value;
    Value same;
    Value result;
    u32 zero;

    // As in the paper, the value of a thread is its number, and zero is exchanged for zero, or compared with one. A
    // distance between the targets that is known only at run time is that of an array with a stride; if it is zero, the
    // compiler does not see that there is one variable, and only the hardware aggregates.
    __device__ __forceinline__ explicit Operation(const Arguments &arguments)
        : target(first_variable(arguments) + distance(arguments)),
          compare((Value)(KIND == CAS_FAIL ? 1 : 0)),
          value((Value)(scale(arguments) * grid_thread() + bias(arguments))),
          same(0),
          result(0),
          zero((u32)arguments.opaque_zero) {
        if constexpr (COMPARES) {
            // Zero, which the compiler does not know, and which it cannot load anew for each operation.
            const Value unknown = OPERAND == REGISTERS ? (Value)(arguments.opaque_zero * grid_thread()) : (Value)0;
            value = unknown;
            compare += unknown;
        }
        same = value + (Value)zero;
        if constexpr (IN_SHARED_MEMORY) {
            for (u32 word = threadIdx.x; word < SHARED_BYTES / 8; word += blockDim.x) shared_memory[word] = 0;
        }
    }

    // From the first variable to that of the thread.
    __device__ __forceinline__ static u64 distance(const Arguments &arguments) {
        if constexpr (HAS_BINS) return (IN_SHARED_MEMORY ? threadIdx.x : grid_thread()) % MOST_BINS;
        return ONE_ADDRESS ? 0 : (u64)arguments.stride * (IN_SHARED_MEMORY ? threadIdx.x : grid_thread());
    }

    // The value of a thread: scale * (its number in the grid) + bias.
    __device__ __forceinline__ static u32 scale(const Arguments &arguments) {
        return OPERAND == CONSTANT ? 0 : arguments.value_scale;
    }
    __device__ __forceinline__ static u32 bias(const Arguments &arguments) {
        return OPERAND == CONSTANT ? 1 : arguments.value_bias;
    }

    __device__ __forceinline__ static Value *first_variable(const Arguments &arguments) {
        return IN_SHARED_MEMORY ? reinterpret_cast<Value *>(shared_memory) : static_cast<Value *>(arguments.memory);
    }

    // Relaxed. If the result is not used, this is a reduction (RED) if there is one, and no thread waits.
    __device__ __forceinline__ void run() {
        if constexpr (!RESULT_USED) {
            apply(target, compare, value);
            if constexpr (OPERAND == VARYING) {
                // The step is zero, which the compiler does not know. So the sum can be checked.
                value += (Value)zero;
            } else if constexpr (KIND == AND || KIND == OR) {
                swap_values();
            }
        } else if constexpr (KIND == CAS_PASS) {
            compare = apply(target, compare, value);
        } else if constexpr (SUMS) {
            result = apply(target, compare, after(result, value, zero));
        } else {
            value = apply(target, compare, value);
        }
    }

    // The compiler knows that AND or OR twice with one value is the same as once. It does not know that these two
    // values are equal.
    __device__ __forceinline__ void swap_values() {
        const Value next = same;
        same = value;
        value = next;
    }

    // Adds the variables in shared memory to global memory, which outlives the launch.
    __device__ __forceinline__ void finish(const Arguments &arguments) {
        if constexpr (RESULT_USED) keep(SUMS ? result : KIND == CAS_PASS ? compare : value);
        if constexpr (SUMS && IN_SHARED_MEMORY) {
            __syncthreads();
            if (is_first_of_variable(arguments)) static_cast<Value *>(arguments.memory)[grid_thread()] += *target;
        }
    }

    // Whether this is the first thread that uses its variable.
    __device__ static bool is_first_of_variable(const Arguments &arguments) {
        if constexpr (HAS_BINS) return (IN_SHARED_MEMORY ? threadIdx.x : grid_thread()) < MOST_BINS;
        return arguments.stride != 0 || (IN_SHARED_MEMORY ? threadIdx.x : grid_thread()) == 0;
    }

    __device__ static void check(const Arguments &arguments) {
        if constexpr (SUMS) {
            check_sum(arguments);
        } else {
            check_trial(arguments);
        }
    }

    // Integers wrap around in the sum as in the variable. Floating point is checked with sums that are exact.
    __device__ static void check_sum(const Arguments &arguments) {
        if (!is_first_of_variable(arguments)) return;
        if constexpr (HAS_BINS) return check_bin(arguments);
        const u64 sharing = arguments.stride != 0 ? 1 : IN_SHARED_MEMORY ? blockDim.x : (u64)gridDim.x * blockDim.x;
        const u64 thread = grid_thread();
        const u64 numbers = sharing * thread + sharing * (sharing - 1) / 2;
        const u64 one_each = scale(arguments) * numbers + bias(arguments) * sharing;
        const u64 sum = arguments.total_operations * one_each;
        const Value expected = (Value)(KIND == SUB ? 0 - sum : sum);
        const u64 index = IN_SHARED_MEMORY ? thread : arguments.stride * thread;
        const Value found = static_cast<const Value *>(arguments.memory)[index];
        if (found != expected) report_mismatch(arguments, expected, found);
    }

    // Of every so many threads one uses this bin.
    __device__ static void check_bin(const Arguments &arguments) {
        const u64 thread = grid_thread(), threads = IN_SHARED_MEMORY ? blockDim.x : (u64)gridDim.x * blockDim.x;
        const u64 sharing = (threads - (IN_SHARED_MEMORY ? threadIdx.x : thread) + MOST_BINS - 1) / MOST_BINS;
        const u64 numbers = sharing * thread + (u64)MOST_BINS * (sharing * (sharing - 1) / 2);
        const u64 sum = arguments.total_operations * (scale(arguments) * numbers + bias(arguments) * sharing);
        const Value expected = (Value)sum, found = static_cast<const Value *>(arguments.memory)[thread];
        if (found != expected) report_mismatch(arguments, expected, found);
    }

    // The threads of a block use one variable together, three times each.
    __device__ static void check_trial(const Arguments &arguments) {
        Value *variable = first_variable(arguments) + (IN_SHARED_MEMORY ? 0 : blockIdx.x * blockDim.x);
        const Value initial = KIND == MIN ? (Value)100'000 : KIND == AND ? (Value)~0u : (Value)0;
        __syncthreads();
        if (threadIdx.x == 0) *variable = initial;
        __syncthreads();
        u32 passed = 0;
        for (u32 round = 0; round < 3; round++) {
            const Value compare = KIND == CAS_FAIL ? initial + (Value)1 : initial;
            const Value old = apply(variable, compare, operand(threadIdx.x));
            if constexpr (COMPARES) passed += old == compare;
        }
        const u32 passes = COMPARES ? __syncthreads_count(passed) : 0;
        __syncthreads();
        if (threadIdx.x == 0) {
            const Value left = *static_cast<volatile Value *>(variable), expected = expected_after(initial, left);
            if (left != expected) report_mismatch(arguments, expected, left);
            if (COMPARES && passes != (KIND == CAS_PASS)) report_mismatch(arguments, (u32)(KIND == CAS_PASS), passes);
        }
    }

    // The operand of a thread of the block in the trial.
    __device__ static Value operand(u32 thread) {
        if constexpr (KIND == AND) return (Value) ~(1u << thread % 31);
        if constexpr (KIND == OR || KIND == XOR) return (Value)(1u << (thread * 7) % 31);
        return (Value)(thread + 1);
    }

    // The value of the variable after the operations of all threads of the block.
    __device__ static Value expected_after(Value initial, Value left) {
        if constexpr (KIND == CAS_FAIL) return initial;
        // Any thread may be the last one, or the first one that finds the expected value.
        if constexpr (KIND == EXCHANGE || KIND == CAS_PASS)
            return left >= 1 && left <= (Value)blockDim.x ? left : (Value)1;
        Value value = initial;
        // Repeating the operation does not change the result.
        for (u32 thread = 0; thread < blockDim.x; thread++) value = combined(value, operand(thread));
        return value;
    }
};

SYNCSCOPE_KERNELS
