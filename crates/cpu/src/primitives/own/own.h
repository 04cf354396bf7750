// What `syncscope measure --cpu` gives to the C or C++ that it times. The compiler reads it before your source; to let an
// editor find it, write it to a file with `syncscope measure --header cpu > own.h`.
//
// A statement has these names:
//   x      an atomic T that all threads share, zero before each sample
//   mine   an atomic T of this thread, zero before each sample; --stride elements from the next thread's
//   value  a T in a register, initially the thread's number, whose value the compiler cannot know; assign a result
//          to it, and the compiler must compute the result
//   me     the thread: me->number and me->threads, me->memory, meet(me)
// In C the first three are macros; in C++ they are references. T is the type of --type.
//
// A file has functions, whose variables are me->x, me->mine (pointers) and me->value:
//   void operation(struct thread *me)   what is measured; operation_fast(...) is another one
//   void acquire(struct thread *me)     a lock, with void release(struct thread *me): an addition to a plain counter
//                                       under the lock is measured, and the counter is checked
//   void acquire_shared(struct thread *me)   a lock that admits several threads, such as a read lock or a semaphore, with
//   void release_shared(struct thread *me)   A read of a word under the lock is measured. The check: two threads get in
//                                       together and, if there are acquire and release, no reader sees half of
//                                       what a writer does under them
//   void wait(struct thread *me)        a barrier; the check: nobody leaves before the last thread has arrived
//   void send(struct thread *me)        a message of the first thread, number me->sent from 1, with
//   void receive(struct thread *me)     which waits for it in the others. The check: they see plain data written
//                                       before it. All threads meet after each message, which is part of the cost
//   void wait_for(struct thread *me)    sleeps until wait number me->sent is over, from 1, with
//   void wake(struct thread *me)        which ends it. Measured by the time that the thread spins before it calls
//                                       wait_for, which it leaves out where the wait is over by then
//   void setup(struct thread *me)       before each sample, by the first thread
//   int check(struct thread *me)        after each sample, by the first thread: 0 if something went wrong.
//                                       me->executed is the number of operations of all threads
// setup, check and release may have the suffix of an operation, too: release_fast belongs to acquire_fast.
// Threads run in a program that has several. One-thread code that calls a library is also measured in a process with one thread,
// where libraries may do less.
#ifndef SYNCSCOPE_OWN_H
#define SYNCSCOPE_OWN_H
#ifdef __cplusplus
#include <stdint.h>
#else
// Of C, the compiler's own headers alone, without those of the system: `#define _GNU_SOURCE` in a source still counts.
#pragma push_macro("__STDC_HOSTED__")
#undef __STDC_HOSTED__
#define __STDC_HOSTED__ 0
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#pragma pop_macro("__STDC_HOSTED__")
#endif

#ifndef SYNCSCOPE_TYPE
#define SYNCSCOPE_TYPE int32_t
#endif
typedef SYNCSCOPE_TYPE T;

#ifdef __cplusplus
#include <atomic>
// Not the whole namespace: `std::thread` is another thread. Functions such as atomic_fetch_add are found by their arguments.
using std::atomic, std::atomic_int, std::memory_order_relaxed, std::memory_order_acquire, std::memory_order_release,
    std::memory_order_acq_rel, std::memory_order_seq_cst;
typedef std::atomic<T> atomic_T;
#else
typedef _Atomic(T) atomic_T;
#endif

// Whether a source compiles without it tells whether the source uses it.
#ifdef SYNCSCOPE_WITHOUT_MINE
#define SYNCSCOPE_MINE syncscope_mine
#else
#define SYNCSCOPE_MINE mine
#endif

struct thread {
    atomic_T *x, *SYNCSCOPE_MINE;
    void *memory;      // 4096 bytes that all threads share, zero before each sample
    uint32_t number;   // from 0
    uint32_t threads;  // how many there are
    uint64_t executed;
    T value;
    uint64_t *counter;  // what a lock protects, or a message announces
    uint64_t sent;      // messages so far, this one included; the number of a wait
    uint32_t *meeting;
    void (*work)(const void *);  // --inside and --outside
    const void *inside, *outside;
    uint32_t writes;  // whether this thread writes, of those of a lock that admits several
};

static inline void syncscope_pause(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

// A barrier of all threads of the team.
static inline void meet(struct thread *me) {
    uint32_t *const arrived = me->meeting, *const generation = me->meeting + 1;
    const uint32_t now = __atomic_load_n(generation, __ATOMIC_ACQUIRE);
    if (__atomic_add_fetch(arrived, 1, __ATOMIC_ACQ_REL) == me->threads) {
        __atomic_store_n(arrived, 0, __ATOMIC_RELAXED);
        __atomic_store_n(generation, now + 1, __ATOMIC_RELEASE);
    } else {
        while (__atomic_load_n(generation, __ATOMIC_ACQUIRE) == now) syncscope_pause();
    }
}
#endif
