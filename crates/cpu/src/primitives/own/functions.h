// What the timed loops execute, made of the functions of a source: SYNCSCOPE_OPERATION and the functions that belong to it. The
// file of a statement defines functions of its own.

#if defined(SYNCSCOPE_SHARED)
// What a lock that admits several threads guards: a writer changes both words, and no reader may see only one of them changed.
struct syncscope_guarded {
    uint64_t first, second;
    uint64_t torn;     // readers who saw that
    uint64_t arrived;  // threads that came to the lock for the first time
    uint64_t inside;   // of these, those who have it
    uint64_t several;  // whether two had it together
    uint64_t alone;    // whether a thread waited inside for one that did not get in
    uint64_t written;  // additions of writers beside readers
};

SYNCSCOPE_INLINED void syncscope_once(struct thread *me) {
    if (SYNCSCOPE_WORK) me->work(me->outside);
#ifdef SYNCSCOPE_ROLES
    if (me->writes) {
        SYNCSCOPE_ACQUIRE_ALONE(me);
        *me->counter = *me->counter + 1;
        if (SYNCSCOPE_WORK) me->work(me->inside);
        SYNCSCOPE_RELEASE_ALONE(me);
        me->sent++;
        return;
    }
#endif
    SYNCSCOPE_OPERATION(me);
    (void)*(volatile uint64_t *)me->counter;
    if (SYNCSCOPE_WORK) me->work(me->inside);
    SYNCSCOPE_RELEASE(me);
}

// The longest wait inside the lock: some hundredths of a second.
#define SYNCSCOPE_LONGEST (1u << 19)

static __attribute__((unused)) void syncscope_come_together(struct thread *me, struct syncscope_guarded *guarded) {
    __atomic_fetch_add(&guarded->arrived, 1, __ATOMIC_SEQ_CST);
    SYNCSCOPE_OPERATION(me);
    if (__atomic_add_fetch(&guarded->inside, 1, __ATOMIC_SEQ_CST) > 1) __atomic_store_n(&guarded->several, 1, __ATOMIC_SEQ_CST);
    for (uint32_t waited = 0; !__atomic_load_n(&guarded->several, __ATOMIC_SEQ_CST); syncscope_pause()) {
        if (__atomic_load_n(&guarded->alone, __ATOMIC_RELAXED)) break;
        // A wait counts only once another thread has arrived, which can be let in.
        waited += __atomic_load_n(&guarded->arrived, __ATOMIC_RELAXED) > 1;
        if (waited > SYNCSCOPE_LONGEST) {
            __atomic_store_n(&guarded->alone, 1, __ATOMIC_RELAXED);
            break;
        }
    }
    __atomic_fetch_sub(&guarded->inside, 1, __ATOMIC_SEQ_CST);
    SYNCSCOPE_RELEASE(me);
}

static __attribute__((unused)) void syncscope_stressed(struct thread *me) {
    struct syncscope_guarded *const guarded = (struct syncscope_guarded *)me->counter;
    volatile uint64_t *const first = &guarded->first, *const second = &guarded->second;
    if (me->sent++ == 0) {
        if (me->threads > 1) syncscope_come_together(me, guarded);
        return;
    }
    const uint64_t wait = (me->number * 7 + me->sent * 5) % 32;
#ifdef SYNCSCOPE_ACQUIRE_ALONE
    if ((me->number + me->sent) % 4 == 0) {
        SYNCSCOPE_ACQUIRE_ALONE(me);
        *first = *first + 1;
        for (uint64_t i = wait; i > 0; i--) syncscope_pause();
        *second = *first;
        SYNCSCOPE_RELEASE_ALONE(me);
        return;
    }
#endif
    SYNCSCOPE_OPERATION(me);
    const uint64_t seen = *first;
    for (uint64_t i = wait; i > 0; i--) syncscope_pause();
    if (*second != seen) __atomic_fetch_add(&guarded->torn, 1, __ATOMIC_RELAXED);
    SYNCSCOPE_RELEASE(me);
}

#elif defined(SYNCSCOPE_RELEASE)
SYNCSCOPE_INLINED void syncscope_once(struct thread *me) {
    if (SYNCSCOPE_WORK) me->work(me->outside);
    SYNCSCOPE_OPERATION(me);
    *me->counter = *me->counter + 1;
    if (SYNCSCOPE_WORK) me->work(me->inside);
    SYNCSCOPE_RELEASE(me);
}

SYNCSCOPE_INLINED void syncscope_stressed(struct thread *me) {
    SYNCSCOPE_OPERATION(me);
    const uint64_t seen = *me->counter;
    for (uint64_t i = (me->number * 7 + seen * 5) % 32; i > 0; i--) syncscope_pause();
    *me->counter = seen + 1;
    SYNCSCOPE_RELEASE(me);
}

#elif defined(SYNCSCOPE_RECEIVE)
SYNCSCOPE_INLINED void syncscope_once(struct thread *me) {
    me->sent++;
    if (me->number == 0) {
        *me->counter = me->sent;
        SYNCSCOPE_OPERATION(me);
    } else {
        SYNCSCOPE_RECEIVE(me);
        if (*me->counter != me->sent) __atomic_fetch_add(me->counter + 1, 1, __ATOMIC_RELAXED);
    }
    meet(me);
}

#elif defined(SYNCSCOPE_WAKE)
// One thread waits for another.
SYNCSCOPE_INLINED void syncscope_once(struct thread *me) {
    me->sent = me->executed;
    if (me->number == 0) {
        SYNCSCOPE_WAKE(me);
    } else {
        SYNCSCOPE_OPERATION(me);
    }
}

#elif defined(SYNCSCOPE_OPERATION)
SYNCSCOPE_INLINED void syncscope_once(struct thread *me) { SYNCSCOPE_OPERATION(me); }
#endif

// Counts what a loop has written.
SYNCSCOPE_INLINED void syncscope_count(const struct thread *me) {
    (void)me;
#ifdef SYNCSCOPE_ROLES
    if (me->writes) __atomic_fetch_add(&((struct syncscope_guarded *)me->counter)->written, me->sent, __ATOMIC_RELAXED);
#endif
}

#ifndef SYNCSCOPE_RELEASE
#define syncscope_stressed syncscope_once
#endif

#ifndef SYNCSCOPE_HAS_SET_UP
static __attribute__((unused)) void syncscope_set_up(struct thread *me) {
    (void)me;
#ifdef SYNCSCOPE_SET_UP
    SYNCSCOPE_SET_UP(me);
#endif
}
#endif

#ifndef SYNCSCOPE_HAS_CONTEXT
#define syncscope_context syncscope_once
#endif

static __attribute__((unused)) int syncscope_check(struct thread *me) {
    (void)me;
#ifdef SYNCSCOPE_CHECK
    return SYNCSCOPE_CHECK(me);
#else
    return 1;
#endif
}
