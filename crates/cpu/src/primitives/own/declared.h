// The functions of a source that stand in the timed loops: a copy of them must be inlined there, as a program's compiler may do it.
#define SYNCSCOPE_INLINED static inline __attribute__((always_inline, unused))

#ifdef SYNCSCOPE_OPERATION
SYNCSCOPE_INLINED void SYNCSCOPE_OPERATION(struct thread *me);
#endif
#ifdef SYNCSCOPE_RELEASE
SYNCSCOPE_INLINED void SYNCSCOPE_RELEASE(struct thread *me);
#endif
#ifdef SYNCSCOPE_RECEIVE
SYNCSCOPE_INLINED void SYNCSCOPE_RECEIVE(struct thread *me);
#endif
