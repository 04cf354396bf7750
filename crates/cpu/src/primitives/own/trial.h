// How a few threads use an operation to see whether it keeps its promise: in the model (explore.c) and on this machine
// (stress.c).

enum { SYNCSCOPE_MEMBERS = 64, SYNCSCOPE_WORDS = 32 };

static struct {
    uint64_t x[SYNCSCOPE_WORDS], meeting[SYNCSCOPE_WORDS], memory[512], mine[SYNCSCOPE_MEMBERS][SYNCSCOPE_WORDS];
    // What a lock protects or a message announces, and what each thread wrote before a barrier.
    uint64_t first[SYNCSCOPE_WORDS], second[SYNCSCOPE_WORDS], cells[SYNCSCOPE_MEMBERS][SYNCSCOPE_WORDS];
} syncscope_trial __attribute__((aligned(256)));

#ifdef __cplusplus
extern "C" {
#endif
void syncscope_broken(const char *what, uint64_t expected, uint64_t found);
void syncscope_delay(unsigned number);
void syncscope_trial_clear(void);
void syncscope_trial_begin(unsigned threads);
void syncscope_trial_run(unsigned number, unsigned threads, unsigned times);
void syncscope_trial_end(unsigned threads, unsigned times);
// Whether a later relaxed store of the same thread continues a release sequence: true in C, dropped in C++20 (P0982).
extern const int syncscope_has_c_sequences;
// Whether a strong write that a strong read has observed is ordered before what follows the read (causality order of PTX).
#ifndef SYNCSCOPE_TRIAL_PTX
#define SYNCSCOPE_TRIAL_PTX 0
#endif
extern const int syncscope_orders_observed;
#ifdef __cplusplus
}
const int syncscope_has_c_sequences = 0;
#else
const int syncscope_has_c_sequences = 1;
#endif
const int syncscope_orders_observed = SYNCSCOPE_TRIAL_PTX;

static struct thread syncscope_member(unsigned number, unsigned threads) {
    struct thread me;
    __builtin_memset(&me, 0, sizeof me);
    me.x = (atomic_T *)syncscope_trial.x;
    me.mine = (atomic_T *)syncscope_trial.mine[number];
    me.memory = syncscope_trial.memory;
    me.number = number, me.threads = threads;
    me.value = (T)number;
    me.counter = syncscope_trial.first;
    me.meeting = (uint32_t *)syncscope_trial.meeting;
    return me;
}

#if SYNCSCOPE_TRIAL_MODEL
#define syncscope_delay(number)
#endif

void syncscope_trial_clear(void) { __builtin_memset(&syncscope_trial, 0, sizeof syncscope_trial); }

void syncscope_trial_begin(unsigned threads) {
    struct thread me = syncscope_member(0, threads);
    syncscope_set_up(&me);
}

#define SYNCSCOPE_EXPECT(WHAT, EXPECTED, FOUND)                                      \
    do {                                                                             \
        const uint64_t expected = (EXPECTED), found = (FOUND);                       \
        if (found != expected) syncscope_broken(WHAT, expected, found);              \
    } while (0)

// In the model, the value that an operation read into its register counts as used: otherwise the compiler would drop the read.
#if SYNCSCOPE_TRIAL_MODEL
#define SYNCSCOPE_USE(me) __asm__ volatile("" : : "m"((me).value))
#else
#define SYNCSCOPE_USE(me) (void)(me)
#endif

void syncscope_trial_run(unsigned number, unsigned threads, unsigned times) {
    struct thread me = syncscope_member(number, threads);
    uint64_t *const first = syncscope_trial.first, *const second = syncscope_trial.second;
    (void)first, (void)second;
    for (unsigned time = 1; time <= times; time++) {
        syncscope_delay(number);
        me.sent = time;
#if defined(SYNCSCOPE_SHARED)
        if (number == 0) {
            SYNCSCOPE_ACQUIRE_ALONE(&me);
            *first = time;
            syncscope_delay(number);
            *second = time;
            SYNCSCOPE_RELEASE_ALONE(&me);
        } else {
            SYNCSCOPE_OPERATION(&me);
            const uint64_t seen = *first;
            syncscope_delay(number);
            SYNCSCOPE_EXPECT("torn", seen, *second);
            SYNCSCOPE_RELEASE(&me);
        }
#elif defined(SYNCSCOPE_RELEASE)
        SYNCSCOPE_OPERATION(&me);
        const uint64_t seen = *first;
        syncscope_delay(number);
#if !SYNCSCOPE_TRIAL_MODEL
        SYNCSCOPE_EXPECT("torn", seen, *second);
        *second = seen + 1;
#endif
        *first = seen + 1;
        SYNCSCOPE_RELEASE(&me);
#elif defined(SYNCSCOPE_RECEIVE)
        if (number == 0) {
            *first = time;
            SYNCSCOPE_OPERATION(&me);
        } else {
            SYNCSCOPE_RECEIVE(&me);
            SYNCSCOPE_EXPECT("early", time, *first);
        }
        meet(&me);
#elif SYNCSCOPE_TRIAL_BARRIER
        syncscope_trial.cells[number][0] = time;
        SYNCSCOPE_OPERATION(&me);
        for (unsigned other = 0; other < threads; other++) SYNCSCOPE_EXPECT("early", time, syncscope_trial.cells[other][0]);
        syncscope_delay(number);
        if (time < times || !SYNCSCOPE_TRIAL_MODEL) SYNCSCOPE_OPERATION(&me);
#else
        SYNCSCOPE_OPERATION(&me);
#endif
        SYNCSCOPE_USE(me);
    }
}

void syncscope_trial_end(unsigned threads, unsigned times) {
    struct thread me = syncscope_member(0, threads);
    me.executed = (uint64_t)threads * times;
    (void)me;
#if defined(SYNCSCOPE_RELEASE) && !defined(SYNCSCOPE_SHARED)
    SYNCSCOPE_EXPECT("lost", me.executed, syncscope_trial.first[0]);
#elif SYNCSCOPE_TRIAL_COUNTER
    uint64_t counted = (uint64_t)*me.x;
    for (unsigned member = 0; member < threads; member++) counted += (uint64_t)*syncscope_member(member, threads).mine;
    SYNCSCOPE_EXPECT("lost", me.executed, counted);
#endif
    if (!syncscope_check(&me)) syncscope_broken("check", 1, 0);
}
