// std::barrier and atomic::wait of the C++ library, against barriers of the catalogue:
//   syncscope measure --std c++20 --cpu examples/measure/atomic_wait.cpp --against cpu.barrier.sense cpu.barrier.futex
// On 16 virtual CPUs of an Emerald Rapids beside other guests (measured/16cpus-atomic_wait.csv): std::barrier takes 2.3, 10.9 and 11.8 times
// as long as the sense-reversing one at 2, 8 and 16 threads (20 us against 1.7), the plain atomic::wait 5.3 us at 16.
#include <barrier>
#include <new>

using Barrier = std::barrier<>;
static_assert(sizeof(Barrier) <= 4096);

void setup_std(struct thread *me) { new (me->memory) Barrier(me->threads); }
void wait_std(struct thread *me) { static_cast<Barrier *>(me->memory)->arrive_and_wait(); }

// A central barrier whose waiters sleep in atomic::wait: x counts arrivals of all phases.
void wait_atomic(struct thread *me) {
    const T threads = me->threads, mine = me->x->fetch_add(1, std::memory_order_acq_rel);
    const T last = mine / threads * threads + threads - 1;
    if (mine == last) return me->x->notify_all();
    for (T seen = mine + 1; seen <= last; seen = me->x->load(std::memory_order_acquire)) me->x->wait(seen);
}
