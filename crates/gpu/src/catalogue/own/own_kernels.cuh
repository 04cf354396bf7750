// The kernels of what a user wrote, which follows: these functions are made of it.
__device__ __forceinline__ void syncscope_once(syncscope::Thread &);
__device__ __forceinline__ void syncscope_set_up(syncscope::Thread &);
__device__ __forceinline__ void syncscope_context(syncscope::Thread &);
__device__ __forceinline__ void syncscope_receive(syncscope::Thread &);

namespace syncscope {

#if SYNCSCOPE_SPAN == 2
using Arguments = GridBarrierArguments;
#else
using Arguments = VariableArguments;
#endif

#if SYNCSCOPE_SHARED
__shared__ T elements[1024];
#endif

// Before the operations of a thread.
__device__ __forceinline__ void begin(Thread &me) {
#if SYNCSCOPE_SHARED
    me.shared = elements;
    for (u32 element = threadIdx.x; element < 1024; element += blockDim.x) elements[element] = 0;
    __syncthreads();
#endif
    syncscope_set_up(me);
}

// Elements from the first array to the second: as in fence.cu.
__device__ constexpr u64 array_distance(u64 elements) {
    constexpr u64 ALIGNMENT = 512 / sizeof(T);
    return (elements + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

#if SYNCSCOPE_SPAN == 2
// A barrier of the grid, or messages with such a barrier behind each. The harness checks every launch.
struct Operation {
    Thread me;
    BarrierOf<COUNTER> meeting;

    // The elements of the threads, if there are any, lie behind what the grid shares.
    __device__ __forceinline__ static T &own_element(const Arguments &arguments) {
        T *const elements = reinterpret_cast<T *>(state_of(arguments) + 128 + 1024);
        return SYNCSCOPE_PRIVATE ? elements[grid_thread()] : *reinterpret_cast<T *>(state_of(arguments));
    }

    __device__ __forceinline__ explicit Operation(const Arguments &arguments)
        : me{*reinterpret_cast<T *>(state_of(arguments)),
             own_element(arguments),
             (T)grid_thread(),
             nullptr,
             grid_thread(),
             state_of(arguments) + 64,
             state_of(arguments) + 128,
             (u32)arguments.barriers_passed,
             (u32)arguments.barriers_passed,
             WaitLimit(arguments.abort),
             arguments.slot},
          meeting(arguments) {
        meeting.state = state_of(arguments) + 32;
        begin(me);
    }

    __device__ __forceinline__ void run() { run_after(0); }

    // With data that was written so many times before.
    __device__ __forceinline__ void run_after(u32 repeats) {
#if SYNCSCOPE_CHECK == 4
        me.sent++;
        if (me.number == 0) {
            publish(me.counter, me.sent, repeats);
            syncscope_once(me);
        } else if (threadIdx.x == 0) {
            syncscope_receive(me);
            const u32 found = load_plain(me.counter);
            if (found != me.sent) count_mismatch(me.sent, found);
        }
        meeting.run();
#else
        (void)repeats;
        syncscope_once(me);
        me.passed++;
#endif
    }
};

// None, few and many writes.
struct Stressed : Operation {
    using Operation::Operation;
    __device__ __forceinline__ void run() { run_after(me.sent % 4 == 0 ? 0 : 1u << 3 * (me.sent % 4)); }
};

SYNCSCOPE_GRID_BARRIERS_CHECKED(SYNCSCOPE_KERNEL, Operation, Stressed)
#else
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
             reinterpret_cast<u32 *>(variable(arguments)) + 32,
             reinterpret_cast<u32 *>(variable(arguments)) + 64,
             0,
             0,
             arguments.abort} {
        begin(me);
    }

    __device__ __forceinline__ void run() { syncscope_once(me); }

    // --baseline, around nothing in the baseline.
    __device__ __forceinline__ void before() { syncscope_context(me); }
    __device__ __forceinline__ void after() {}

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
#elif SYNCSCOPE_CHECK == 3 && SYNCSCOPE_SPAN == 1
        Operation barrier(arguments);
        check_cluster_barrier(arguments, barrier, [&] { barrier.run(); });
#elif SYNCSCOPE_CHECK == 3
        check_barrier<Operation>(arguments, blockDim.x);
#endif
        (void)operations, (void)threads;
    }
};

#if SYNCSCOPE_MEETS
template <>
constexpr Meets MEETS<Operation> = SYNCSCOPE_SPAN == 1 ? Meets::CLUSTER : Meets::BLOCK;
#endif

#if SYNCSCOPE_CONTEXT
template <int COUNT>
using Body = InContext<COUNT>;
#else
template <int COUNT>
using Body = Repeated<COUNT>;
#endif

#if SYNCSCOPE_SPAN == 1
SYNCSCOPE_CLUSTER_KERNELS(Body)
#else
SYNCSCOPE_KERNELS_AS(Body, Together)
#endif
#endif

}  // namespace syncscope
