// Compiled to assembly and never run: everything that the thread gives to an operation is marked, and the marks that are left in
// the assembly show what the operation uses. What is set up once is not part of it.
extern atomic_T syncscope_marked_x, syncscope_marked_mine;
extern T syncscope_marked_value;
extern uint32_t syncscope_marked_meeting;
extern struct thread syncscope_marked_thread;

#if !SYNCSCOPE_FLOATING
#define SYNCSCOPE_IN "r"
#elif defined(__x86_64__)
#define SYNCSCOPE_IN "x"
#else
#define SYNCSCOPE_IN "w"
#endif

static inline __attribute__((always_inline)) struct thread syncscope_marked(T value) {
    struct thread me = syncscope_marked_thread;
    me.x = &syncscope_marked_x;
    me.mine = &syncscope_marked_mine;
    me.value = value;
    me.meeting = &syncscope_marked_meeting;
    return me;
}

void syncscope_keep(void);
void syncscope_keep(void) {
    const T before = syncscope_marked_value;
    struct thread me = syncscope_marked(before);
    syncscope_context(&me);
    syncscope_once(&me);
    __asm__ volatile("# syncscope kept %0 %1" : : SYNCSCOPE_IN(before), SYNCSCOPE_IN(me.value));
}

void syncscope_drop(void);
void syncscope_drop(void) {
    struct thread me = syncscope_marked(syncscope_marked_value);
    syncscope_context(&me);
    syncscope_once(&me);
}
