// The functions of a source that stand in the timed loops: a copy of them must be inlined there, as a program's compiler may do it.
// This stands before the source; behind it, where its definitions agree with no declaration before them.
#define SYNCSCOPE_INLINED static inline __attribute__((always_inline, unused))
#ifdef SYNCSCOPE_BEHIND
#define SYNCSCOPE_DECLARED(name) __attribute__((always_inline)) __typeof__(name) name
#else
#define SYNCSCOPE_DECLARED(name) SYNCSCOPE_INLINED void name(struct thread *me)
#endif
#if defined(__clang__)
// The other half of a lock may be missing. gcc says so where it is to be inlined.
#pragma clang diagnostic error "-Wundefined-internal"
#endif
#ifdef SYNCSCOPE_OPERATION
SYNCSCOPE_DECLARED(SYNCSCOPE_OPERATION);
#endif
#ifdef SYNCSCOPE_RELEASE
SYNCSCOPE_DECLARED(SYNCSCOPE_RELEASE);
#endif
#ifdef SYNCSCOPE_RECEIVE
SYNCSCOPE_DECLARED(SYNCSCOPE_RECEIVE);
#endif
#ifdef SYNCSCOPE_WAKE
SYNCSCOPE_DECLARED(SYNCSCOPE_WAKE);
#endif
#undef SYNCSCOPE_DECLARED
