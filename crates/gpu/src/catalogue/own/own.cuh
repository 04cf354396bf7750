// What `syncscope measure --gpu` gives to the CUDA C++ that it times. The compiler reads it before your source; to let an
// editor find it, write it to a file with `syncscope measure --header gpu`.
//
// A statement has these names:
//   x       a T in global memory that all threads share, zero at first
//   mine    a T in global memory of this thread, zero at first; --stride elements from the next thread's
//   value   a T in a register, initially the thread's number in the grid, whose value the compiler cannot know; a
//           result that the next operation uses must be computed: value = atomicAdd(&x, value)
//   shared  1024 elements of T in the shared memory of the block, zero at first
//   me      the thread: me.number is its number in the grid
// next to CUDA's own, such as threadIdx.x and blockIdx.x. T is the type of --type, int by default.
//
// A file has functions of a Thread, whose variables are me.x, me.mine and me.value (references) and me.shared. The
// parameter may have any name, and helpers may pass it on:
//   __device__ void operation(Thread &me)   what is measured; operation_fast(...) is another one
//   __device__ void acquire(Thread &me)     a lock, with release(Thread &me): one thread of each warp adds to a plain
//                                           counter under the lock, and the counter is checked
//   __device__ void wait(Thread &me)        a barrier of the block; it is checked that nobody leaves too early, and that
//   __device__ void cluster_wait(Thread &me)  what was written before it is seen behind it. The others are barriers of
//   __device__ void grid_wait(Thread &me)   a cluster and of the grid, which is launched so that all blocks run at a time
//   __device__ void send(Thread &me)        a message of the first thread, number me.sent from 1, with
//   __device__ void receive(Thread &me)     which waits for it in the first thread of each other block. The check: they see
//                                           the plain data. The grid meets after each message, which is part of the cost
//   __device__ void setup(Thread &me)       before the operations, by each thread
// release, receive and setup may have the suffix of an operation, too: release_fast belongs to acquire_fast.
// Other functions mean nothing: the compiler tells which can be called with a Thread.
// With --check barrier a statement is a barrier of the block, of the cluster if it has instructions of clusters.
// A grid_wait with me.flags_on(device) runs on all devices (--device 0,1): 16 words in the memory of that device, zero at first, one
// for each device that writes; me.device() is this device's number, of me.devices().
// Code with such instructions, or with --cluster N, runs in clusters. Dynamic shared memory
// (`extern __shared__`) needs --shared-bytes N. me.wait_until([&] { return ...; }) spins until a condition holds, and gives up
// in a kernel that lasts too long. A kernel may have as many registers as its number of threads leaves.
// All our other names begin with syncscope: a source that defines a T or a Thread of its own has ours as
// SYNCSCOPE_TYPE and syncscope::Thread.
#pragma once
#include "harness.cuh"
#if SYNCSCOPE_SPAN == 2
#include "grid_kinds.cuh"
#elif SYNCSCOPE_SPAN == 1
#include "cluster.cuh"
#endif

namespace syncscope {

using T = SYNCSCOPE_TYPE;

struct Thread {
    T &x, &mine;
    T value;
    T *shared;
    u32 number;
    u32 *counter;  // what a lock protects, or a message announces
    void *memory;  // zero at first: grid_wait, send and receive 4096 bytes that the grid shares; others 256 bytes
    u32 passed;    // grid_wait: barriers that each thread has passed before
    u32 sent;      // send and receive: messages so far, this one included
#if SYNCSCOPE_MODEL
    u32 number_of_device, count_of_devices;
    u32 *flags;

    __device__ __forceinline__ u32 device() const { return number_of_device; }
    __device__ __forceinline__ u32 devices() const { return count_of_devices; }
    __device__ __forceinline__ u32 *flags_on(u32 device) const { return flags + 16 * device; }

    template <typename Condition>
    __device__ __forceinline__ void wait_until(Condition holds) {
        while (!holds()) {
        }
    }
#elif SYNCSCOPE_SPAN == 2
    WaitLimit limit;
    u32 slot;

    __device__ __forceinline__ u32 device() const { return device_table.device; }
    __device__ __forceinline__ u32 devices() const { return device_table.devices; }
    __device__ __forceinline__ u32 *flags_on(u32 device) const { return device_table.exchanges[device][slot].flags; }

    template <typename Condition>
    __device__ __forceinline__ void wait_until(Condition holds) {
        limit.wait_for(holds);
    }
#else
    const volatile u32 *abort;

    __device__ __forceinline__ u32 device() const { return 0; }
    __device__ __forceinline__ u32 devices() const { return 1; }
    // Only a kernel that is never run comes here.
    __device__ __forceinline__ u32 *flags_on(u32) const {
        u32 *address;
        asm volatile("mov.u64 %0, 1; // syncscope devices" : "=l"(address));
        return address;
    }

    template <typename Condition>
    __device__ __forceinline__ void wait_until(Condition holds) {
        Spin spin(abort);
        while (!holds() && spin.goes_on()) {
        }
    }
#endif
};

}  // namespace syncscope

#ifndef SYNCSCOPE_WITHOUT_T
using T = SYNCSCOPE_TYPE;
#endif
#ifndef SYNCSCOPE_WITHOUT_THREAD
using Thread = syncscope::Thread;
#endif
