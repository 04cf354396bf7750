// Runs one of SyncPerformance's programs for each line of standard input: a place in memory, then the program's arguments. The
// program is compiled unchanged with `-Dmain=peer_main`, and this file is linked to it with `--wrap` for the functions below,
// so that its arrays begin at the place, given in bytes, a multiple of 512. The program's threads read their own clocks, behind
// a warm-up: blocks that the device serves last begin when others are done, and blocks that find no room run alone. Therefore
// `whole per op` gives the cost of one more operation in each kernel by the host's clock; the program waits for each kernel in
// turn.
#undef main
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <cuda_runtime.h>

int peer_main(int count, char **arguments);

static const size_t ROOM = 32 << 20;
static size_t place;

extern "C" cudaError_t __real_cudaMalloc(void **memory, size_t bytes);
extern "C" cudaError_t __real_cudaFree(void *memory);
extern "C" cudaError_t __wrap_cudaMalloc(void **memory, size_t bytes) {
    const cudaError_t error = __real_cudaMalloc(memory, bytes + ROOM);
    *(char **)memory += place;
    return error;
}
extern "C" cudaError_t __wrap_cudaFree(void *memory) { return __real_cudaFree((char *)memory - place); }

extern "C" cudaError_t __real_cudaDeviceSynchronize();
static std::vector<double> lengths[2];
static int turn;
extern "C" cudaError_t __wrap_cudaDeviceSynchronize() {
    const auto begin = std::chrono::steady_clock::now();
    const cudaError_t error = __real_cudaDeviceSynchronize();
    lengths[turn++ % 2].push_back(std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count());
    return error;
}

// The cost of one more operation, from kernels with one and with two operations, each 100 times per iteration and 100 times
// before.
static double one_more(double iterations) {
    for (auto &all : lengths) std::sort(all.begin(), all.end());
    return (lengths[1][lengths[1].size() / 2] - lengths[0][lengths[0].size() / 2]) / (100 * (iterations + 1));
}

int main(int, char **names) {
    char line[200];
    while (fgets(line, sizeof line, stdin)) {
        printf("CASE %s", line);
        char *arguments[16] = {names[0]};
        int count = 1;
        char *word = strtok(line, " \n");
        place = word ? atol(word) % ROOM : 0;
        while (count < 16 && (word = strtok(nullptr, " \n"))) arguments[count++] = word;
        turn = 0, lengths[0].clear(), lengths[1].clear();
        peer_main(count, arguments);
        if (turn > 1 && count > 4) printf("whole per op: %f ns\n", one_more(atof(arguments[4])));
        fflush(stdout);
    }
}
