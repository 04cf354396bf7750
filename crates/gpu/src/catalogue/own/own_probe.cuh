// What tells the host which functions a source has and what they use: kernels that are compiled and never run. A marker
// is an address of which the compiler knows nothing; it is in the code that is generated if that address is used there.

namespace syncscope {

#define SYNCSCOPE_MARKER(name, Type)                           \
    __device__ __forceinline__ Type *syncscope_##name() {         \
        Type *address;                                         \
        asm("mov.u64 %0, 1; // syncscope " #name : "=l"(address)); \
        return address;                                        \
    }
SYNCSCOPE_MARKER(x, T)
SYNCSCOPE_MARKER(mine, T)
SYNCSCOPE_MARKER(value, const T)
SYNCSCOPE_MARKER(shared, T)
SYNCSCOPE_MARKER(other, u32)

__device__ __forceinline__ T syncscope_before() { return *syncscope_value(); }

__device__ __forceinline__ Thread syncscope_marked(T value) {
    u32 *const other = syncscope_other();
    return Thread{*syncscope_x(), *syncscope_mine(), value,    syncscope_shared(), other[0],
                  other + 4,      other + 8,         other[1], other[2],           other + 12};
}

// Whether the value after an operation is that before it, by the names of their registers.
#define SYNCSCOPE_KEPT(Type, register)                                                       \
    __device__ __forceinline__ void kept(Type before, Type after) {                          \
        asm volatile("// syncscope kept %0 %1" ::register(before), register(after));         \
    }
SYNCSCOPE_KEPT(int, "r")
SYNCSCOPE_KEPT(u32, "r")
SYNCSCOPE_KEPT(u64, "l")
SYNCSCOPE_KEPT(float, "f")
SYNCSCOPE_KEPT(double, "d")
__device__ __forceinline__ void syncscope_kept(T before, const Thread &me) { kept(before, me.value); }

}  // namespace syncscope

// Of each function: a kernel that keeps what it leaves in the value, and one that drops it.
#define SYNCSCOPE_PROBE_ANY(number)                                                \
    template <typename syncscope_t>                                                \
    __device__ __forceinline__ void syncscope_try_##number(syncscope_t &, long) {  \
        asm volatile("// syncscope none");                                         \
    }                                                                              \
    extern "C" __global__ void syncscope_keep_##number() {                         \
        const auto syncscope_was = syncscope::syncscope_before();                  \
        auto syncscope_it = syncscope::syncscope_marked(syncscope_was);            \
        syncscope_try_##number(syncscope_it, 0);                                   \
        syncscope::syncscope_kept(syncscope_was, syncscope_it);                    \
    }                                                                              \
    extern "C" __global__ void syncscope_drop_##number() {                         \
        auto syncscope_it = syncscope::syncscope_marked(syncscope::syncscope_before()); \
        syncscope_try_##number(syncscope_it, 0);                                   \
    }

// The function that is tried, if it can be called with a Thread.
#define SYNCSCOPE_PROBE(number, function)                                                      \
    template <typename syncscope_t>                                                            \
    __device__ __forceinline__ auto syncscope_try_##number(syncscope_t &syncscope_it, int)     \
        -> decltype(function(syncscope_it), void()) {                                          \
        function(syncscope_it);                                                                \
    }
