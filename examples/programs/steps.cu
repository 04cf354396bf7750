// A CPU thread that starts steps of a GPU one by one and waits for each: a simulation loop, or a decoder that looks at
// each token.
//
//   steps work=2000 steps=500 rounds=7
//
// `work` are the dependent multiplications of a step. `flag` is one kernel that stays: the CPU raises a flag in host
// memory to start a step, and the GPU raises another when the step is done. `launch` launches a kernel for each step
// and waits for the stream. Without synchronization (`none`) one kernel does all steps.
//
// What the rows of a run predict for a step: a round trip of two flags, or one more kernel and a wait for it.
//
// build: nvcc -O3 -std=c++17
// rows: --preset quick --only hybrid.flag.round_trip,gpu.launch.stream_sync,gpu.block.syncthreads
// conditions: work=500,2000,8000
// predict flag = hybrid.flag.round_trip[order=acq_rel group=near placement=any]
// predict launch = gpu.launch.stream_sync[blocks=multiprocessors threads=32 group="5 us"]
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda/atomic>
#include <string>

static void check(cudaError_t error, const char *what) {
    if (error == cudaSuccess) return;
    fprintf(stderr, "steps: %s: %s\n", what, cudaGetErrorString(error));
    exit(1);
}
#define CHECK(call) check(call, #call)

// Each multiplication needs the one before. All variants call the same machine code.
__host__ __device__ __noinline__ uint64_t step(uint64_t state, uint64_t input, long work) {
    state ^= input;
    for (long at = 0; at < work; at++) state = state * 6364136223846793005u + 1442695040888963407u;
    return state;
}

// Both in host memory, 256 bytes apart.
struct Flags {
    alignas(256) unsigned started;
    alignas(256) unsigned done;
};
using Flag = cuda::atomic_ref<unsigned, cuda::thread_scope_system>;

__global__ void all_steps(uint64_t *state, long steps, long work) {
    uint64_t now = 0;
    for (long at = 1; at <= steps; at++) now = step(now, at, work);
    *state = now;
}

// A GPU that waits for ten seconds gives up.
__global__ void flagged_steps(Flags *flags, uint64_t *state, long steps, long work) {
    constexpr long long MOST_CYCLES = 20'000'000'000;
    uint64_t now = 0;
    const long long begin = clock64();
    for (unsigned at = 1; at <= steps; at++) {
        while (Flag(flags->started).load(cuda::memory_order_acquire) != at)
            if (clock64() - begin > MOST_CYCLES) return;
        now = step(now, at, work);
        *state = now;
        Flag(flags->done).store(at, cuda::memory_order_release);
    }
}

__global__ void one_step(uint64_t *state, long at, long work) { *state = step(*state, at, work); }

struct Simulation {
    long steps, work;
    Flags *flags;
    uint64_t *state;

    void launch_each() {
        for (long at = 1; at <= steps; at++) {
            one_step<<<1, 1>>>(state, at, work);
            CHECK(cudaStreamSynchronize(0));
        }
    }

    void flag_each() {
        flagged_steps<<<1, 1>>>(flags, state, steps, work);
        CHECK(cudaGetLastError());
        const auto begin = std::chrono::steady_clock::now();
        for (unsigned at = 1; at <= steps; at++) {
            Flag(flags->started).store(at, cuda::memory_order_release);
            while (Flag(flags->done).load(cuda::memory_order_acquire) != at)
                if (std::chrono::steady_clock::now() - begin > std::chrono::seconds(10)) return;
        }
    }

    // In ns, from an idle device to an idle device.
    long long run(const std::string &variant) {
        CHECK(cudaMemset(state, 0, sizeof *state));
        *flags = {};
        CHECK(cudaDeviceSynchronize());
        const auto start = std::chrono::steady_clock::now();
        if (variant == "none") all_steps<<<1, 1>>>(state, steps, work);
        if (variant == "flag") flag_each();
        if (variant == "launch") launch_each();
        CHECK(cudaGetLastError());
        CHECK(cudaDeviceSynchronize());
        return std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count();
    }
};

static long option(int count, char **arguments, const char *name, long fallback) {
    const size_t length = strlen(name);
    for (int at = 1; at < count; at++)
        if (!strncmp(arguments[at], name, length) && arguments[at][length] == '=')
            return atol(arguments[at] + length + 1);
    return fallback;
}

int main(int count, char **arguments) {
    Simulation simulation = {};
    simulation.steps = option(count, arguments, "steps", 500);
    simulation.work = option(count, arguments, "work", 2000);
    const long rounds = option(count, arguments, "rounds", 7);
    if (simulation.steps < 1 || simulation.work < 0) {
        fprintf(stderr, "steps: 1 step or more\n");
        return 2;
    }
    CHECK(cudaMallocHost(&simulation.flags, sizeof(Flags)));
    CHECK(cudaMalloc(&simulation.state, sizeof(uint64_t)));
    uint64_t expected = 0;
    for (long at = 1; at <= simulation.steps; at++) expected = step(expected, at, simulation.work);
    const char *const variants[] = {"none", "flag", "launch"};
    for (const char *variant : variants) simulation.run(variant);
    puts("round,variant,synchronizations,ns,right");
    for (long round = 0; round < rounds; round++)
        for (const char *variant : variants) {
            const long long ns = simulation.run(variant);
            uint64_t found;
            CHECK(cudaMemcpy(&found, simulation.state, sizeof found, cudaMemcpyDeviceToHost));
            printf("%ld,%s,%ld,%lld,%s\n", round, variant, simulation.steps, ns, found == expected ? "yes" : "no");
        }
    return 0;
}
