// Locks in global memory (gpu.lock). One thread of each warp takes the lock, adds one to a counter and gives the lock
// back; the others wait behind the loop. One lock for the device.
//
// KIND says which lock.
//
// One thread, because threads of a warp that spin for each other depend on how the hardware schedules their paths: they
// come through since compute capability 7.0 (independent thread scheduling), but at a cost that is not the lock's.
#include "harness.cuh"

using Arguments = VariableArguments;

enum Kind { SPIN_CAS, SPIN_EXCHANGE, TICKET };

// In lines of 128 bytes each. The host gives a case 512 bytes at least.
constexpr u32 LINE = 128 / sizeof(u32);

struct Operation {
    u32 *lock;     // 0: free; TICKET: the next ticket
    u32 *serving;  // TICKET: the ticket whose turn it is
    volatile u32 *counter;
    const volatile u32 *abort;
    bool given_up;

    // That all threads have one lock is known at run time only: otherwise the compiler would let one lane take tickets
    // for all that are there, and look for others.
    __device__ __forceinline__ explicit Operation(const Arguments &arguments)
        : lock(static_cast<u32 *>(arguments.memory) + arguments.stride * threadIdx.x),
          serving(lock + LINE),
          counter(lock + 2 * LINE),
          abort(arguments.abort),
          given_up(false) {}

    __device__ __forceinline__ bool takes_part() const { return threadIdx.x % 32 == 0; }

    // When the host wants an end of it, the thread gives up without the lock, for this time and for ever.
    __device__ __forceinline__ void run() {
        u32 turn = 0;
        if (given_up || !acquire(turn)) {
            given_up = true;
            return;
        }
        *counter = *counter + 1;
        release(turn);
    }

    // Acquire: what the critical section reads is not older than the lock's last release.
    __device__ __forceinline__ bool acquire(u32 &turn) {
        if constexpr (KIND == TICKET) turn = take_ticket(lock);
        Patience patience(abort);
        u32 goes_on, taken;
        do {
            taken = KIND == TICKET ? load_acquire(serving) == turn : swap_acquire(lock) == 0;
            goes_on = !taken & patience.lasts();
            // Not seeing through this, the compiler makes one loop of it and repeats no part before.
            asm volatile("" : "+r"(goes_on));
        } while (goes_on);
        return taken;
    }

    // Release: what the critical section wrote is there before the lock is free.
    __device__ __forceinline__ void release(u32 turn) {
        u32 *const word = KIND == TICKET ? serving : lock;
        const u32 value = KIND == TICKET ? turn + 1 : 0;
        asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
    }

    // Puts 1 into the lock, if it is free or in any case, and returns what was in it.
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
        if (*lock.counter != expected) report_mismatch(arguments, expected, (u32)*lock.counter);
        const u32 free = KIND == TICKET ? *lock.serving : 0;
        if (*lock.lock != free) report_mismatch(arguments, free, *lock.lock);
    }
};

SYNCSCOPE_KERNELS_AS(Repeated, Partly)
