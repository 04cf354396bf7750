#define _GNU_SOURCE
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
enum { FREE, HELD, AWAITED };
static inline int try_lock(struct thread *me) {
    T found = FREE;
    return atomic_compare_exchange_strong_explicit(me->x, &found, HELD, memory_order_acquire, memory_order_relaxed);
}
void acquire(struct thread *me) {
    if (try_lock(me)) return;
    if (atomic_load_explicit(me->x, memory_order_relaxed) == FREE && try_lock(me)) return;
    while (atomic_exchange_explicit(me->x, AWAITED, memory_order_acquire) != FREE)
        syscall(SYS_futex, me->x, FUTEX_WAIT_PRIVATE, AWAITED, 0);
}
void release(struct thread *me) {
    if (atomic_exchange_explicit(me->x, FREE, memory_order_release) == AWAITED) syscall(SYS_futex, me->x, FUTEX_WAKE_PRIVATE, 1);
}
