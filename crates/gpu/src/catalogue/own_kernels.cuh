// The kernels of what a user wrote: `once` and `set_up` are made of it.

#if SYNCSCOPE_CHECK == 4
#error "messages are checked between threads of the CPU alone"
#endif

#if SYNCSCOPE_SHARED
__shared__ T syncscope_shared[1024];
#endif

// Elements from the first array to the second: as in fence.cu.
__device__ constexpr u64 array_distance(u64 elements) {
    constexpr u64 ALIGNMENT = 512 / sizeof(T);
    return (elements + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

struct Operation {
    Thread me;

    // The elements of the threads come first, if there are any.
    __device__ __forceinline__ static T *variable(const Arguments &arguments) {
        T *const memory = static_cast<T *>(arguments.memory);
        return SYNCSCOPE_PRIVATE ? memory + array_distance((u64)arguments.stride * gridDim.x * blockDim.x) : memory;
    }

    __device__ __forceinline__ explicit Operation(const Arguments &arguments)
        : me{*variable(arguments),
             static_cast<T *>(arguments.memory)[(u64)arguments.stride * grid_thread()],
             (T)(arguments.value_scale * grid_thread() + arguments.value_bias),
             nullptr,
             grid_thread(),
             reinterpret_cast<u32 *>(variable(arguments)) + 32} {
#if SYNCSCOPE_SHARED
        me.shared = syncscope_shared;
        for (u32 element = threadIdx.x; element < 1024; element += blockDim.x) syncscope_shared[element] = 0;
        __syncthreads();
#endif
        syncscope_set_up(me);
    }

    __device__ __forceinline__ void run() { syncscope_once(me); }

    __device__ __forceinline__ void finish(const Arguments &arguments) {
        // The register is used, and nothing is stored: no thread has this number.
        if (arguments.stride == ~0u) me.x = me.value;
    }

    __device__ static void check(const Arguments &arguments) {
        const u64 operations = arguments.total_operations, threads = (u64)gridDim.x * blockDim.x;
#if SYNCSCOPE_CHECK == 1
        const T *const memory = static_cast<const T *>(arguments.memory);
        if (SYNCSCOPE_PRIVATE) {
            const T found = memory[(u64)arguments.stride * grid_thread()];
            if (found != (T)operations) report_mismatch(arguments, (T)operations, found);
        } else if (grid_thread() == 0 && *memory != (T)(operations * threads)) {
            report_mismatch(arguments, (T)(operations * threads), *memory);
        }
#elif SYNCSCOPE_CHECK == 2
        const u32 found = *(reinterpret_cast<const u32 *>(variable(arguments)) + 32);
        const u32 expected = (u32)(operations * gridDim.x * ((blockDim.x + 31) / 32));
        if (grid_thread() == 0 && found != expected) report_mismatch(arguments, expected, found);
#elif SYNCSCOPE_CHECK == 3
        check_barrier<Operation>(arguments, blockDim.x);
#endif
        (void)operations, (void)threads;
    }
};

#if SYNCSCOPE_MEETS
template <>
constexpr Meets MEETS<Operation> = Meets::BLOCK;
#endif

SYNCSCOPE_KERNELS
