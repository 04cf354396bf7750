// Declares the functions of a source that are part of the timed loops: they must be inlined there, as a program's compiler may
// do. It comes before the source, or behind it if the source's definitions agree with no declaration in front of them.
#define SYNCSCOPE_INLINED static inline __attribute__((always_inline, unused))
#ifdef SYNCSCOPE_BEHIND
#define SYNCSCOPE_DECLARED(name) __attribute__((always_inline)) __typeof__(name) name
#else
#define SYNCSCOPE_DECLARED(name) SYNCSCOPE_INLINED void name(struct thread *me)
#endif
#if defined(__clang__)
// If the other half of a lock is missing, clang must refuse the source; gcc does so when it inlines the function.
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
