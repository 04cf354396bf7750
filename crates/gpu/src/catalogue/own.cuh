// What `syncscope measure --gpu` gives to the CUDA C++ that it times. It stands in front of the source; to let an
// editor find it, write it to a file with `syncscope measure --header gpu`.
//
// A statement has these names:
//   x       a T in global memory that all threads share, zero at first
//   mine    a T in global memory of this thread, zero at first; --stride elements from that of the next thread
//   value   a T in a register, which begins with the thread's number in the grid and of which the compiler knows
//           nothing; assign a result to it, and the compiler must compute it
//   shared  1024 elements of T in the shared memory of the block, zero at first
//   me      the thread: me.number is its number in the grid
// besides CUDA's own, such as threadIdx.x and blockIdx.x. T is the type of --type.
//
// A file has functions, whose variables are me.x, me.mine and me.value (references) and me.shared:
//   __device__ void operation(Thread &me)   what is measured; operation_fast(...) is another one
//   __device__ void acquire(Thread &me)     a lock, with release(Thread &me): one thread of each warp adds to a plain
//                                           counter under the lock, and the counter is checked
//   __device__ void wait(Thread &me)        a barrier of the block; it is checked that nobody leaves too early
//   __device__ void setup(Thread &me)       before the operations, by each thread
// release and setup may have the ending of an operation, too: release_fast belongs to acquire_fast.
// A kernel has 32 registers for each thread, so that two blocks of 1024 threads fit on a multiprocessor.
#pragma once
#include "harness.cuh"

using Arguments = VariableArguments;
using T = VALUE;

struct Thread {
    T &x, &mine;
    T value;
    T *shared;
    u32 number;
    u32 *counter;  // what a lock protects
};
