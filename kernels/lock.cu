// Locks in global memory (gpu.lock). One thread of each warp takes the lock, adds one to a counter and releases the
// lock; the other threads wait after the loop. There is one lock for the device.
//
// KIND selects the lock.
//
// Only one thread of a warp takes part. If threads of one warp spin for each other, the result depends on how the
// hardware schedules their paths. They do make progress since compute capability 7.0 (independent thread scheduling),
// but the cost of that is not the cost of the lock.
#include "harness.cuh"

using Arguments = VariableArguments;

enum Kind { SPIN_CAS, SPIN_EXCHANGE, TICKET };

// Each word is in a line of 128 bytes of its own. The host provides at least 512 bytes.
constexpr u32 LINE = 128 / sizeof(u32);

struct Operation {
    u32 *lock;     // 0: free; TICKET: the next ticket
    u32 *serving;  // TICKET: the ticket whose turn it is
    u32 *counter;  // plain, as a program's data are: the lock alone orders the accesses
    const volatile u32 *abort;
    bool given_up;

    // The compiler does not know that all threads have the same lock. Otherwise it would let one lane take the tickets
    // of all active lanes, with code to find them.
    __device__ __forceinline__ explicit Operation(const Arguments &arguments)
        : lock(static_cast<u32 *>(arguments.memory) + arguments.stride * threadIdx.x),
          serving(lock + LINE),
          counter(lock + 2 * LINE),
          abort(arguments.abort),
          given_up(false) {}

    __device__ __forceinline__ bool takes_part() const { return threadIdx.x % 32 == 0; }

    // If the host requests a stop, the thread gives up without the lock, now and in all later operations.
    __device__ __forceinline__ void run() {
        u32 turn = 0;
        if (given_up || !acquire(turn)) {
            given_up = true;
            return;
        }
        *counter = *counter + 1;
        release(turn);
    }

    // Acquire: the critical section reads nothing older than the last release of the lock.
    __device__ __forceinline__ bool acquire(u32 &turn) {
        if constexpr (KIND == TICKET) turn = take_ticket(lock);
        Spin spin(abort);
        u32 goes_on, taken;
        do {
            taken = KIND == TICKET ? load_acquire(serving) == turn : swap_acquire(lock) == 0;
            goes_on = !taken & spin.goes_on();
            // The compiler does not see through this, so it makes one loop of it and moves no part in front.
            asm volatile("" : "+r"(goes_on));
        } while (goes_on);
        return taken;
    }

    // Release: the writes of the critical section are visible before the lock is free.
    __device__ __forceinline__ void release(u32 turn) {
        u32 *const word = KIND == TICKET ? serving : lock;
        const u32 value = KIND == TICKET ? turn + 1 : 0;
        asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
    }

    // Writes 1 into the lock, only if it is free (compare-and-swap) or always (exchange), and returns the old value.
    __device__ __forceinline__ static u32 swap_acquire(u32 *lock) {
        u32 old;
        if constexpr (KIND == SPIN_CAS) {
            asm volatile("atom.acquire.gpu.global.cas.b32 %0, [%1], 0, 1;" : "=r"(old) : "l"(lock) : "memory");
        } else {
            asm volatile("atom.acquire.gpu.global.exch.b32 %0, [%1], 1;" : "=r"(old) : "l"(lock) : "memory");
        }
        return old;
    }

    __device__ __forceinline__ static u32 take_ticket(u32 *lock) {
        u32 ticket;
        asm volatile("atom.relaxed.gpu.global.add.u32 %0, [%1], 1;" : "=r"(ticket) : "l"(lock) : "memory");
        return ticket;
    }

    __device__ __forceinline__ static u32 load_acquire(const u32 *word) {
        u32 value;
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
        return value;
    }

    __device__ __forceinline__ void finish(const Arguments &) {}

    // No addition is lost, and the lock is free.
    __device__ static void check(const Arguments &arguments) {
        if (grid_thread() != 0) return;
        Operation lock(arguments);
        const u32 warps = gridDim.x * ((blockDim.x + 31) / 32), expected = (u32)arguments.total_operations * warps;
        if (*lock.counter != expected) report_mismatch(arguments, expected, *lock.counter);
        const u32 free = KIND == TICKET ? *lock.serving : 0;
        if (*lock.lock != free) report_mismatch(arguments, free, *lock.lock);
    }
};

SYNCSCOPE_KERNELS_AS(Repeated, Partly)
