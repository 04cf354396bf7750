// Small messages between devices (gpu.multi.exchange): each device writes BYTES into the memory of every other one and
// waits for theirs, in its own memory. All values are compared.
//
// With RELEASED=0 a lane writes eight bytes of data and the number of the turn in one store of 16 bytes, which arrives
// as a whole: no order is needed. With RELEASED=1 the lanes write their data and one of them a flag that releases them.
// OF_TWO=1 is a program for two devices: it keeps the addresses that it writes to and reads from.
#include "grid_barrier.cuh"

using Arguments = GridBarrierArguments;

constexpr u32 LANES = BYTES / 8;

struct alignas(16) Packet {
    u64 data, turn;
};

// What one device writes for another one in a turn. A turn that is not read yet is not written again: whoever has all
// of turn n has been told that all have read turn n - 1. So two are enough, and the copies of an exchange have room for
// the messages of four devices.
struct Message {
    Packet packets[16];
};
static_assert(sizeof(Message) == sizeof(Exchange) && BYTES <= 128, "a message is one copy of an exchange");

struct Operation {
    u32 *last;  // the last turn at this memory offset
    u32 slot, turn, wrong = 0;
    u32 here = device_table.device, devices = device_table.devices;
    // Of two devices, what they write for each other in even and in odd turns.
    Packet *out[2], *in[2];
    WaitLimit limit;

    __device__ __forceinline__ explicit Operation(const Arguments &arguments)
        : last(state_of(arguments)), slot(arguments.slot), turn(*last), limit(arguments.abort) {
        if constexpr (OF_TWO) {
#pragma unroll
            for (u32 parity = 0; parity < 2; parity++) {
                out[parity] = message(here, 1 - here, parity);
                in[parity] = message(1 - here, here, parity);
                // Else the compiler computes them anew from the table of devices in each exchange.
                asm volatile("" : "+l"(out[parity]), "+l"(in[parity]));
            }
        }
        __syncthreads();
    }

    __device__ __forceinline__ bool takes_part() const { return threadIdx.x < (RELEASED ? 32 : LANES); }

    // The message from one device in the memory of another.
    __device__ __forceinline__ Packet *message(u32 from, u32 at, u32 parity) const {
        Exchange *const exchange =
            device_table.exchanges[at] + (1 + 2 * from + parity) * device_table.copy_distance + slot;
        return reinterpret_cast<Message *>(exchange)->packets;
    }

    // What a device says in a turn, lane by lane.
    __device__ __forceinline__ u64 said(u32 device) const { return (u64)turn << 32 | device << 8 | threadIdx.x; }

    __device__ __forceinline__ void run() {
        turn++;
        if constexpr (OF_TWO) {
            write(turn % 2 ? out[1] : out[0], said(here));
            compare(turn % 2 ? in[1] : in[0], 1 - here);
            return;
        }
#pragma unroll 1
        for (u32 step = 1; step < devices; step++) {
            const u32 other = here + step < devices ? here + step : here + step - devices;
            write(message(here, other, turn % 2), said(here));
        }
#pragma unroll 1
        for (u32 step = 1; step < devices; step++) {
            const u32 other = here + step < devices ? here + step : here + step - devices;
            compare(message(other, here, turn % 2), other);
        }
    }

    __device__ __forceinline__ void compare(const Packet *packets, u32 other) {
        const u64 difference = read(packets) ^ said(other);
        wrong |= (u32)difference | (u32)(difference >> 32);
    }

    __device__ __forceinline__ void write(Packet *packets, u64 data) const {
        Packet *const own = packets + threadIdx.x;
        if constexpr (!RELEASED) {
            asm volatile(
                "{.reg .b128 both; mov.b128 both, {%1, %2}; st.relaxed.sys.global.b128 [%0], both;}" ::"l"(own),
                "l"(data), "l"((u64)turn)
                : "memory");
        } else {
            if (threadIdx.x < LANES) asm volatile("st.global.u64 [%0], %1;" ::"l"(own), "l"(data) : "memory");
            __syncwarp();
            if (threadIdx.x == 0) {
                asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(&packets->turn), "l"((u64)turn) : "memory");
            }
        }
    }

    __device__ __forceinline__ u64 read(const Packet *packets) {
        const Packet *const own = packets + threadIdx.x;
        u64 data = 0, found;
        if constexpr (!RELEASED) {
            limit.wait_for_answer([&] {
                asm volatile("{.reg .b128 both; ld.relaxed.sys.global.b128 both, [%2]; mov.b128 {%0, %1}, both;}"
                             : "=l"(data), "=l"(found)
                             : "l"(own)
                             : "memory");
                return found == turn;
            });
        } else {
            if (threadIdx.x == 0) {
                limit.wait_for_answer([&] {
                    asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(found) : "l"(&packets->turn) : "memory");
                    return found == turn;
                });
            }
            __syncwarp();
            if (threadIdx.x < LANES) asm volatile("ld.global.u64 %0, [%1];" : "=l"(data) : "l"(own) : "memory");
        }
        return data;
    }

    __device__ __forceinline__ void finish(const Arguments &) const {
        if (threadIdx.x < LANES && wrong != 0) count_mismatch(turn, turn ^ wrong);
        if (threadIdx.x == 0) *last = turn;
    }

    __device__ static void check(const Arguments &arguments) {
        check_in_turn<Operation>(arguments, device_table.device);
    }
};

SYNCSCOPE_KERNELS_AS(Repeated, Partly)
