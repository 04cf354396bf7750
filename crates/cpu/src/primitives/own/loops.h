// The timed loops of an operation, all made of `syncscope_once`. See `timed_loop` and `window_loop` in Rust.

// The data of a thread, from the team; `Given` in Rust.
struct syncscope_given {
    void *x, *mine, *memory;
    uint64_t *counter;
    uint32_t *meeting;
    uint32_t number, threads;
    uint64_t executed;
    void (*work)(const void *);
    const void *inside, *outside;
    uint32_t writes;
};

#ifdef __cplusplus
#define SYNCSCOPE_EXPORT extern "C" __attribute__((visibility("default"), noinline))
#else
#define SYNCSCOPE_EXPORT __attribute__((visibility("default"), noinline))
#endif

static inline __attribute__((always_inline)) struct thread syncscope_thread(const struct syncscope_given *given) {
    struct thread me;
    me.x = (atomic_T *)given->x;
    me.mine = (atomic_T *)given->mine;
    me.memory = given->memory;
    me.number = given->number;
    me.threads = given->threads;
    me.executed = given->executed;
    me.value = (T)given->number;
    me.counter = given->counter;
    me.meeting = given->meeting;
    me.sent = 0;
    me.work = given->work;
    me.inside = given->inside;
    me.outside = given->outside;
    me.writes = given->writes;
    return me;
}

static inline __attribute__((always_inline)) void syncscope_keep(struct thread *me) {
    volatile T kept = me->value;
    (void)kept;
}

#if !SYNCSCOPE_FLOATING
#define SYNCSCOPE_REGISTER "+r"
#elif defined(__x86_64__)
#define SYNCSCOPE_REGISTER "+x"
#else
#define SYNCSCOPE_REGISTER "+w"
#endif

// What an operation leaves in `value` must have been computed.
static inline __attribute__((always_inline)) void syncscope_use(struct thread *me) {
    __asm__ volatile("" : SYNCSCOPE_REGISTER(me->value));
}

// By the number of copies of the operation besides its context. The preprocessor chooses them: without optimization, a compiler
// would leave the choice to run time in each loop, and all loops would have the same instructions.
#define SYNCSCOPE_STEP_0(me) syncscope_context(me), syncscope_use(me)
#define SYNCSCOPE_STEP_1(me) SYNCSCOPE_STEP_0(me), syncscope_once(me), syncscope_use(me)
#define SYNCSCOPE_STEP_2(me) SYNCSCOPE_STEP_1(me), syncscope_once(me), syncscope_use(me)

// An exception that nothing catches ends the process here, with the message of the C++ library.
#ifdef __cplusplus
#define SYNCSCOPE_NOEXCEPT noexcept
#else
#define SYNCSCOPE_NOEXCEPT
#endif

// The loops are compared by their instructions, so each has one copy of its body, whatever the options and the pragmas of a
// source say. Loops of the source itself are unrolled as the options say.
#if defined(__clang__)
#define SYNCSCOPE_ROLLED _Pragma("clang loop unroll(disable)")
#elif __GNUC__ >= 8
#define SYNCSCOPE_ROLLED _Pragma("GCC unroll 1")
#else
#define SYNCSCOPE_ROLLED
#endif

#define SYNCSCOPE_REPEAT(COPIES)                                                                                      \
    SYNCSCOPE_EXPORT void syncscope_repeat_##COPIES(const struct syncscope_given *given, uint64_t iterations) SYNCSCOPE_NOEXCEPT { \
        struct thread me = syncscope_thread(given);                                                                   \
        SYNCSCOPE_ROLLED                                                                                              \
        for (uint64_t iteration = 0; iteration < iterations; iteration++) {                                           \
            SYNCSCOPE_STEP_##COPIES(&me), SYNCSCOPE_STEP_##COPIES(&me);                                               \
            SYNCSCOPE_STEP_##COPIES(&me), SYNCSCOPE_STEP_##COPIES(&me);                                               \
            SYNCSCOPE_STEP_##COPIES(&me), SYNCSCOPE_STEP_##COPIES(&me);                                               \
            SYNCSCOPE_STEP_##COPIES(&me), SYNCSCOPE_STEP_##COPIES(&me);                                               \
            SYNCSCOPE_STEP_##COPIES(&me), SYNCSCOPE_STEP_##COPIES(&me);                                               \
            SYNCSCOPE_STEP_##COPIES(&me), SYNCSCOPE_STEP_##COPIES(&me);                                               \
            SYNCSCOPE_STEP_##COPIES(&me), SYNCSCOPE_STEP_##COPIES(&me);                                               \
            SYNCSCOPE_STEP_##COPIES(&me), SYNCSCOPE_STEP_##COPIES(&me);                                               \
        }                                                                                                             \
        syncscope_keep(&me), syncscope_count(&me);                                                                    \
    }
#define SYNCSCOPE_WINDOW(COPIES)                                                                                      \
    SYNCSCOPE_EXPORT void syncscope_window_##COPIES(const struct syncscope_given *given, uint64_t (*look)(void *),    \
                                                    void *watch, uint64_t left) SYNCSCOPE_NOEXCEPT {                      \
        struct thread me = syncscope_thread(given);                                                                   \
        SYNCSCOPE_ROLLED                                                                                              \
        for (; 1;) {                                                                                                  \
            if (__builtin_expect(left == 0, 0) && (left = look(watch)) == 0) break;                                   \
            left--;                                                                                                   \
            SYNCSCOPE_STEP_##COPIES(&me), SYNCSCOPE_STEP_##COPIES(&me);                                               \
        }                                                                                                             \
        syncscope_keep(&me), syncscope_count(&me);                                                                    \
    }

SYNCSCOPE_WINDOW(2)
// The other loops repeat the same code: a comparison of code (SYNCSCOPE_FEW) does without them.
#ifndef SYNCSCOPE_FEW
SYNCSCOPE_WINDOW(0) SYNCSCOPE_WINDOW(1)
SYNCSCOPE_REPEAT(0) SYNCSCOPE_REPEAT(1) SYNCSCOPE_REPEAT(2)
#endif

SYNCSCOPE_EXPORT void syncscope_execute(const struct syncscope_given *given) SYNCSCOPE_NOEXCEPT {
    struct thread me = syncscope_thread(given);
    syncscope_once(&me);
    syncscope_keep(&me);
}

SYNCSCOPE_EXPORT void syncscope_stress(const struct syncscope_given *given, uint64_t times) SYNCSCOPE_NOEXCEPT {
    struct thread me = syncscope_thread(given);
    while (times-- > 0) syncscope_stressed(&me);
}

SYNCSCOPE_EXPORT void syncscope_begin(const struct syncscope_given *given) SYNCSCOPE_NOEXCEPT {
    struct thread me = syncscope_thread(given);
    syncscope_set_up(&me);
}

SYNCSCOPE_EXPORT int syncscope_verify(const struct syncscope_given *given) SYNCSCOPE_NOEXCEPT;

#ifndef SYNCSCOPE_FEW
// `Loops` in Rust.
struct syncscope_loops {
    void (*repeat[3])(const struct syncscope_given *, uint64_t);
    void (*window[3])(const struct syncscope_given *, uint64_t (*)(void *), void *, uint64_t);
    void (*execute)(const struct syncscope_given *);
    void (*stress)(const struct syncscope_given *, uint64_t);
    void (*begin)(const struct syncscope_given *);
    int (*verify)(const struct syncscope_given *);
};

SYNCSCOPE_EXPORT const struct syncscope_loops *syncscope_loops(void) {
    static const struct syncscope_loops loops = {
        {syncscope_repeat_0, syncscope_repeat_1, syncscope_repeat_2},
        {syncscope_window_0, syncscope_window_1, syncscope_window_2},
        syncscope_execute, syncscope_stress, syncscope_begin, syncscope_verify,
    };
    return &loops;
}
#endif

// Last, so that no directive is last: for an open bracket in the user's code, a compiler names the end of the file.
SYNCSCOPE_EXPORT int syncscope_verify(const struct syncscope_given *given) SYNCSCOPE_NOEXCEPT {
    struct thread me = syncscope_thread(given);
    return syncscope_check(&me);
}
