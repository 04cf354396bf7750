// A CPU thread and a GPU thread answer each other through host memory (hybrid.flag).
//
// There are two words, each in cache lines of its own. The GPU writes the number of its turn into its word and waits
// until it finds that number in the word of the CPU. The CPU waits for a new number in the word of the GPU and copies
// it into its own. Both sides write with release and read with acquire, at system scope: each side sees what the other
// one wrote before its turn. So a turn can carry data; `check` tests that. With ORDERED=0 the accesses of the GPU are
// relaxed, and a turn carries no data.
#include "harness.cuh"

using Arguments = HybridFlagArguments;

// Two lines of 128 bytes, because CPUs fetch neighbouring lines together. `hybrid/round_trip.rs` has the same offsets.
constexpr u32 FAR_APART = 256 / sizeof(u32);
enum Word {
    GPU_TURN = 0 * FAR_APART,
    CPU_TURN = 1 * FAR_APART,
    QUESTION = 2 * FAR_APART,
    ANSWER = 3 * FAR_APART,
    LENGTHS = 4 * FAR_APART
};

// Round trips that `check` times one by one.
constexpr u32 TRIPS = 1024;

// Limits the waits for the CPU twice: the host can end them, and their number is limited in case the host cannot. Each
// read is a trip over the link of half a microsecond or more, so the limit is some 20 s.
struct WaitLimit {
    static constexpr u32 MOST_SPINS = 1u << 25;

    Spin spin;

    __device__ __forceinline__ explicit WaitLimit(const Arguments &arguments) : spin(arguments.abort) {}

    __device__ __forceinline__ bool goes_on() { return spin.goes_on() && spin.spins < MOST_SPINS; }
};

struct Operation {
    u32 *words;
    WaitLimit limit;
    u32 turn;
    bool given_up;

    // The numbers of the turns continue from the launch before.
    __device__ __forceinline__ explicit Operation(const Arguments &arguments)
        : words(static_cast<u32 *>(arguments.memory)),
          limit(arguments),
          turn(load(words + GPU_TURN)),
          given_up(false) {}

    // One round trip. A thread that gave up still counts its turns, but does not wait for answers: a branch around the
    // wait would make two loops of this one.
    __device__ __forceinline__ void run() {
        turn++;
        store(words + GPU_TURN, turn);
        u32 goes_on, answered;
        do {
            answered = load(words + CPU_TURN) == turn;
            goes_on = !answered & !given_up & limit.goes_on();
            // The compiler does not see through this, so it makes one loop of it and moves no part in front.
            asm volatile("" : "+r"(goes_on));
        } while (goes_on);
        given_up |= !answered;
    }

    // Release: a CPU that sees the turn sees what this thread wrote before.
    __device__ __forceinline__ static void store(u32 *word, u32 value) {
        if constexpr (ORDERED) {
            asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
        } else {
            asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
        }
    }

    // Acquire: this thread sees what the CPU wrote before the turn that it sees.
    __device__ __forceinline__ static u32 load(const u32 *word) {
        u32 value;
        if constexpr (ORDERED) {
            asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
        } else {
            asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
        }
        return value;
    }

    __device__ __forceinline__ void finish(const Arguments &) {}

    // Round trips one by one: with a question and its answer if the host requests that, otherwise with a clock.
    __device__ static void check(const Arguments &arguments) {
        __shared__ u32 lengths[TRIPS];
        if (grid_thread() != 0) return;
        Operation flag(arguments);
        const u64 first = read_clock();
        const bool asks = ORDERED && arguments.asks_questions != 0;
#pragma unroll 1
        for (u32 trip = 0; trip < TRIPS && !flag.given_up; trip++) {
            if (asks) flag.words[QUESTION] = flag.turn * 3 + 1;
            const u32 start = read_clock_low();
            flag.run();
            lengths[trip] = read_clock_low() - start;
            const u32 expected = ~((flag.turn - 1) * 3 + 1);
            if (asks && flag.words[ANSWER] != expected) report_mismatch(arguments, expected, flag.words[ANSWER]);
        }
        if (flag.given_up) {
            report_mismatch(arguments, flag.turn, load(flag.words + CPU_TURN));
            return;
        }
        if (!asks) {
            // The length of all round trips together is in the last word. The lower half of the counter is enough for
            // some milliseconds.
            flag.words[LENGTHS + TRIPS] = (u32)(read_clock() - first);
            for (u32 trip = 0; trip < TRIPS; trip++) flag.words[LENGTHS + trip] = lengths[trip];
        }
    }
};

SYNCSCOPE_KERNELS
