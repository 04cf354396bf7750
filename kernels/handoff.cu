// Hand-offs between two blocks of a grid (gpu.handoff): one block writes, another one waits for it and answers.
//
// KIND selects how; all but RELAXED carry data, which the receiver reads and compares. PLACE selects the blocks and
// where their words lie: the first two blocks of the grid and words anywhere; or, with a block on each multiprocessor,
// two that are near the same half of the second-level cache with their words there, or two near different halves, each
// of which polls in its own. In all kinds but the stream, both blocks wait for a turn and then write the next one, so
// one operation is a round trip. The first block pauses before it writes, untimed; see `pause.cuh`. In the stream the
// first block sends lines of 32 words through a ring, and the second one reports how far it has read.
#include "grid_barrier.cuh"
#include "near_counters.cuh"
#include "pause.cuh"

using Arguments = GridBarrierArguments;

enum Kind { RELAXED, RELEASE, FENCED, ADDED, PACKED, STREAM };
enum Place { ANYWHERE, NEAR, FAR };

constexpr bool IS_STREAM = KIND == STREAM;

// Where the parts of a message lie in its page, in words, each in lines of its own.
enum Word { FLAG = 512, DATA = FLAG + 32, RING = DATA + 32 };
constexpr u32 LINES = 8;

constexpr u32 NOBODY = 2;

// What thread 0 found out, for the others of the block.
struct Choice {
    u32 role;  // 0: the block that begins, 1: its partner, NOBODY: a block that only stands there
    u32 *out, *in;
};

struct Operation {
    Choice choice;
    u32 turn;
    u32 wrong = 0;  // bits in which data differed from what was sent
    Pauses pauses;
    WaitLimit limit;

    __device__ __forceinline__ explicit Operation(const Arguments &arguments)
        : turn((u32)arguments.barriers_passed), limit(arguments.abort) {
        __shared__ Choice shared;
        __syncthreads();
        if (threadIdx.x == 0) {
            shared = chosen(arguments, limit);
            // Both begin with the same turn and its data: their words hold those of an earlier launch.
            if (shared.role != NOBODY) {
                choice = shared;
                store(choice.out + FLAG, IS_STREAM ? turn : turn - 1);
                if constexpr (!IS_STREAM) send(turn);
                limit.wait_for([&] { return reached(load_relaxed_gpu(shared.in + FLAG), turn); });
            }
        }
        __syncthreads();
        choice = shared;
    }

    __device__ __forceinline__ bool takes_part() const {
        return choice.role != NOBODY && (IS_STREAM || threadIdx.x == 0);
    }

    __device__ __forceinline__ void run() {
        turn++;
        if constexpr (IS_STREAM) {
            if (choice.role == 0) {
                produce();
            } else {
                consume();
            }
        } else {
            const u32 awaited = turn - 1 + choice.role, found = receive(awaited);
            // A branch: what was received has arrived, as a program needs it.
            if (found != awaited) differs(awaited, found);
            if (choice.role == 0) pauses.pause(turn);
            send(turn);
        }
    }

    __device__ __noinline__ static void differs(u32 awaited, u32 found) { count_mismatch(awaited, found); }

    // Of two blocks that answer each other, the time of the one that pauses counts; a block that takes no part has
    // none.
    __device__ __forceinline__ u64 untimed(u64 cycles) {
        if (choice.role == 0) return pauses.taken();
        return IS_STREAM && choice.role != NOBODY ? 0 : cycles;
    }

    // The data first, then the flag.
    __device__ __forceinline__ void send(u32 value) const {
        u32 *const flag = choice.out + FLAG;
        if constexpr (KIND == PACKED) {
            // One store of 16 bytes, which arrives as a whole: no order is needed.
            const u64 low = (u64)value << 32 | value;
            asm volatile(
                "{.reg .b128 both; mov.b128 both, {%1, %1}; st.relaxed.gpu.global.b128 [%0], both;}" ::"l"(flag),
                "l"(low)
                : "memory");
            return;
        }
        if constexpr (KIND != RELAXED) store_plain(choice.out + DATA, value);
        if constexpr (KIND == RELAXED) store(flag, value);
        if constexpr (KIND == RELEASE) store_release_gpu(flag, value);
        if constexpr (KIND == ADDED) add_one_release_gpu(flag);
        if constexpr (KIND == FENCED) {
            __threadfence();
            asm volatile("st.volatile.global.u32 [%0], %1;" ::"l"(flag), "r"(value) : "memory");
        }
    }

    // Waits for this turn and returns what was sent with it.
    __device__ __forceinline__ u32 receive(u32 awaited) {
        const u32 *const flag = choice.in + FLAG;
        u32 data = awaited;
        limit.wait_for_answer([&] {
            if constexpr (KIND == PACKED) {
                u64 low, high;
                asm volatile("{.reg .b128 both; ld.relaxed.gpu.global.b128 both, [%2]; mov.b128 {%0, %1}, both;}"
                             : "=l"(low), "=l"(high)
                             : "l"(flag)
                             : "memory");
                data = (u32)(high >> 32);
                return (u32)low == awaited;
            }
            if constexpr (KIND == FENCED) {
                u32 found;
                asm volatile("ld.volatile.global.u32 %0, [%1];" : "=r"(found) : "l"(flag) : "memory");
                return found == awaited;
            }
            return (KIND == RELAXED ? load_relaxed_gpu(flag) : load_acquire_gpu(flag)) == awaited;
        });
        if constexpr (KIND == FENCED) __threadfence();
        if constexpr (KIND != RELAXED && KIND != PACKED) data = load_plain(choice.in + DATA);
        return data;
    }

    // A line of the ring must have been read before it is written again.
    __device__ __forceinline__ void produce() {
        limit.wait_for_answer([&] { return reached(load_relaxed_gpu(choice.in + FLAG) + LINES, turn); });
        store_plain(choice.out + RING + turn % LINES * 32 + threadIdx.x % 32, turn);
        __syncwarp();
        if (threadIdx.x == 0) store_release_gpu(choice.out + FLAG, turn);
    }

    __device__ __forceinline__ void consume() {
        limit.wait_for_answer([&] { return reached(load_acquire_gpu(choice.in + FLAG), turn); });
        wrong |= load_plain(choice.in + RING + turn % LINES * 32 + threadIdx.x % 32) ^ turn;
        __syncwarp();
        if (threadIdx.x == 0) store(choice.out + FLAG, turn);
    }

    __device__ __forceinline__ static void store(u32 *word, u32 value) {
        asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
    }

    // Which blocks take part, and where their words are. To be called by one thread of each block.
    __device__ __noinline__ static Choice chosen(const Arguments &arguments, WaitLimit &limit) {
        u32 *const state = state_of(arguments);
        u32 *first = NearCounters::page(state, 0), *second = NearCounters::page(state, 1);
        u32 partner = 1;
        if constexpr (PLACE != ANYWHERE) {
            NearCounters counters;
            counters.choose(state, limit);
            first = counters.near, second = counters.far;
            partner = chosen_partner(arguments, limit, first < second);
        }
        const u32 role = blockIdx.x == 0 ? 0 : blockIdx.x == partner ? 1 : NOBODY;
        // Each polls the page near itself. In one half there is one near page, which has room for both.
        if constexpr (PLACE == NEAR) second = first + NEAR_DISTANCE;
        const bool swaps = PLACE == FAR || role == 1;
        return swaps ? Choice{role, second, first} : Choice{role, first, second};
    }

    // The words of the second block in the page that both use.
    static constexpr int NEAR_DISTANCE = -352;

    // Each block says near which half it is; the first one chooses among the others, another one at each memory offset.
    __device__ static u32 chosen_partner(const Arguments &arguments, WaitLimit &limit, bool half) {
        u32 *const verdict = state_of(arguments) + VERDICT, *const halves =
                                                                device_table.block_flags[device_table.device];
        const u32 tag = arguments.generation << 12;
        store_release_gpu(halves + blockIdx.x, tag | half);
        u32 found = 0;
        if (blockIdx.x == 0) {
            const u32 wanted = PLACE == NEAR ? half : !half;
            for (u32 step = 0; step < gridDim.x - 1 && found == 0; step++) {
                const u32 other = 1 + (step + arguments.generation * 37) % (gridDim.x - 1);
                u32 word;
                limit.wait_for([&] { return ((word = load_acquire_gpu(halves + other)) & ~0xfffu) == tag; });
                if ((word & 1) == wanted) found = other;
            }
            // A device whose cache has no halves.
            if (found == 0) found = gridDim.x - 1;
            store_release_gpu(verdict, tag | found);
            return found;
        }
        limit.wait_for([&] { return ((found = load_acquire_gpu(verdict)) & ~0xfffu) == tag; });
        return found & 0xfff;
    }
    static constexpr u32 VERDICT = 3;

    __device__ __forceinline__ void finish(const Arguments &) const {
        if (takes_part() && wrong != 0) count_mismatch(turn, turn ^ wrong);
    }

    __device__ static void check(const Arguments &arguments) { check_in_turn<Operation>(arguments, blockIdx.x); }
};

template <>
constexpr bool syncscope::HAS_UNTIMED<Operation> = true;

SYNCSCOPE_KERNELS_AS(Repeated, Partly)
