// How long should a thread spin before it sleeps? What a wait of 1 to 512 us costs in CPU time and delay, by the time spun:
//   syncscope measure --cpu examples/measure/waits.c --out waits && syncscope advise waits --need wait
// `futex` sleeps at once. `pause` looks for about ten microseconds more before it does, as many runtimes do.
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Atomic uint32_t *word(struct thread *me) { return (_Atomic uint32_t *)me->memory; }

void wake(struct thread *me) {
    atomic_store_explicit(word(me), (uint32_t)me->sent, memory_order_release);
    syscall(SYS_futex, word(me), FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
}

void wait_for_futex(struct thread *me) {
    uint32_t found;
    while ((found = atomic_load_explicit(word(me), memory_order_acquire)) != (uint32_t)me->sent) {
        syscall(SYS_futex, word(me), FUTEX_WAIT_PRIVATE, found, 0, 0, 0);
    }
}

void wait_for_pause(struct thread *me) {
    for (int look = 0; look < 300; look++) {
        if (atomic_load_explicit(word(me), memory_order_acquire) == (uint32_t)me->sent) return;
        syncscope_pause();
    }
    wait_for_futex(me);
}
