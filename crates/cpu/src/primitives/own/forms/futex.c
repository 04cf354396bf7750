#define _GNU_SOURCE
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
struct central { atomic_uint missing; unsigned apart[31]; atomic_uint episode; };
void setup(struct thread *me) { atomic_store_explicit(&((struct central *)me->memory)->missing, me->threads, memory_order_relaxed); }
void wait(struct thread *me) {
    struct central *const barrier = me->memory;
    const unsigned episode = atomic_load_explicit(&barrier->episode, memory_order_relaxed);
    if (atomic_fetch_sub_explicit(&barrier->missing, 1, memory_order_acq_rel) == 1) {
        atomic_store_explicit(&barrier->missing, me->threads, memory_order_relaxed);
        atomic_store_explicit(&barrier->episode, episode + 1, memory_order_release);
        syscall(SYS_futex, &barrier->episode, FUTEX_WAKE_PRIVATE, INT_MAX);
        return;
    }
    while (atomic_load_explicit(&barrier->episode, memory_order_acquire) == episode)
        syscall(SYS_futex, &barrier->episode, FUTEX_WAIT_PRIVATE, episode, 0);
}
