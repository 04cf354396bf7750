// A CPU thread and a GPU thread answer each other through memory of the host (hybrid.flag).
//
// Two words on lines of their own: the GPU writes the number of its turn into its word and waits until it finds it in
// the CPU's; the CPU waits for a new number in the GPU's word and copies it into its own. Each side writes with release
// and reads with acquire, at system scope: what one wrote before its turn, the other sees after. So a turn can carry
// data, which `check` tries. With ORDERED=0 the GPU's accesses are relaxed: a turn carries nothing then but itself.
#include "harness.cuh"

using Arguments = HybridFlagArguments;

// Two lines of 128 bytes; CPUs fetch neighbouring lines together. `hybrid/round_trip.rs` has the same places.
constexpr u32 FAR_APART = 256 / sizeof(u32);
enum Place {
    GPU_TURN = 0 * FAR_APART,
    CPU_TURN = 1 * FAR_APART,
    QUESTION = 2 * FAR_APART,
    ANSWER = 3 * FAR_APART,
    LENGTHS = 4 * FAR_APART
};

// Round trips that `check` makes and times one by one.
constexpr u32 TRIPS = 1024;

// Bounds the waits for the CPU twice: by the host's wish, and by their number in case the host cannot wish any more.
// Each look is a trip over the link, of half a microsecond and more, so that these are some 20 s.
struct Bound {
    static constexpr u32 MOST_SPINS = 1u << 25;

    Patience patience;

    __device__ __forceinline__ explicit Bound(const Arguments &arguments) : patience(arguments.abort) {}

    __device__ __forceinline__ bool lasts() { return patience.lasts() && patience.spins < MOST_SPINS; }
};

struct Operation {
    u32 *words;
    Bound bound;
    u32 turn;
    bool given_up;

    // The turns go on where the launch before left them.
    __device__ __forceinline__ explicit Operation(const Arguments &arguments)
        : words(static_cast<u32 *>(arguments.memory)),
          bound(arguments),
          turn(load(words + GPU_TURN)),
          given_up(false) {}

    // One round trip. A thread that gave up still takes its turns, but waits for no answer any more: a branch around
    // them would make two loops of this one.
    __device__ __forceinline__ void run() {
        turn++;
        store(words + GPU_TURN, turn);
        u32 goes_on, answered;
        do {
            answered = load(words + CPU_TURN) == turn;
            goes_on = !answered & !given_up & bound.lasts();
            // Not seeing through this, the compiler makes one loop of it and repeats no part before.
            asm volatile("" : "+r"(goes_on));
        } while (goes_on);
        given_up |= !answered;
    }

    // Release: the CPU that sees the turn sees what this thread wrote before.
    __device__ __forceinline__ static void store(u32 *word, u32 value) {
        if constexpr (ORDERED) {
            asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
        } else {
            asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
        }
    }

    // Acquire: this thread sees what the CPU wrote before the turn that is seen.
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

    // Round trips one by one, with a question and its answer if the host asks for that, with a clock otherwise.
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
            // Of all together, in the last place. The lower half is enough for some milliseconds.
            flag.words[LENGTHS + TRIPS] = (u32)(read_clock() - first);
            for (u32 trip = 0; trip < TRIPS; trip++) flag.words[LENGTHS + trip] = lengths[trip];
        }
    }
};

SYNCSCOPE_KERNELS
