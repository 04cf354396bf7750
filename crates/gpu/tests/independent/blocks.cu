// Hand-offs between two blocks, and barriers of grids with some blocks, by a program that shares nothing with syncscope. One
// line per row, as key=value pairs: cycles of a round trip, of a line of the stream, or of a barrier; slope of two lengths,
// median over words and pairs of multiprocessors.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cuda/atomic>
#include <vector>
typedef unsigned u32;
typedef unsigned long long u64;
#define OK(x) do { cudaError_t bad_ = x; if (bad_) { printf("# error %s line %d\n", cudaGetErrorString(bad_), __LINE__); exit(1); } } while (0)
template <typename T> using ref = cuda::atomic_ref<T, cuda::thread_scope_device>;
constexpr auto relaxed = cuda::memory_order_relaxed, release = cuda::memory_order_release, acquire = cuda::memory_order_acquire;
enum Kind { RELAXED, RELEASE, FENCED, COUNT, PACKED, STREAM };
struct Box { u32 flag, pad[31], data, pad2[31], ring[8][32]; };

template <Kind K> __device__ void put(Box *box, u32 turn) {
    if (K == RELAXED) ref<u32>(box->flag).store(turn, relaxed);
    if (K == RELEASE) { box->data = turn; ref<u32>(box->flag).store(turn, release); }
    if (K == FENCED) { box->data = turn; __threadfence(); *(volatile u32 *)&box->flag = turn; }
    if (K == COUNT) { box->data = turn; asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(&box->flag) : "memory"); }
    if (K == PACKED) asm volatile("{.reg .b128 b; mov.b128 b, {%1, %1}; st.relaxed.gpu.b128 [%0], b;}" ::"l"(box), "l"((u64)turn << 32 | turn) : "memory");
}
template <Kind K> __device__ u32 get(Box *box, u32 turn) {
    if (K == RELAXED) { while (ref<u32>(box->flag).load(relaxed) != turn) {} return turn; }
    if (K == RELEASE || K == COUNT) { while (ref<u32>(box->flag).load(acquire) != turn) {} return box->data; }
    if (K == FENCED) { while (*(volatile u32 *)&box->flag != turn) {} __threadfence(); return box->data; }
    u64 low, high;
    do asm volatile("{.reg .b128 b; ld.relaxed.gpu.b128 b, [%2]; mov.b128 {%0, %1}, b;}" : "=l"(low), "=l"(high) : "l"(box) : "memory"); while ((u32)low != turn);
    return (u32)(high >> 32);
}

// The blocks on these multiprocessors take part; by default, the first two.
template <Kind K> __global__ void play(Box *to_second, Box *to_first, u32 first, u32 turns, int sm1, int sm2, long long *out, u32 *bad) {
    u32 sm; asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    const bool is1 = sm1 < 0 ? blockIdx.x == 0 : sm == sm1, is2 = sm1 < 0 ? blockIdx.x == 1 : sm == sm2;
    if (K == STREAM) {
        if (is1) {
            const long long start = clock64();
            for (u32 turn = first; turn < first + turns; turn++) {
                while ((int)(ref<u32>(to_first->flag).load(relaxed) + 8 - turn) < 0) {}
                to_second->ring[turn % 8][threadIdx.x] = turn; __syncwarp();
                if (threadIdx.x == 0) ref<u32>(to_second->flag).store(turn, release);
            }
            if (threadIdx.x == 0) *out = clock64() - start;
        } else if (is2) {
            for (u32 turn = first; turn < first + turns; turn++) {
                while ((int)(ref<u32>(to_second->flag).load(acquire) - turn) < 0) {}
                if (to_second->ring[turn % 8][threadIdx.x] != turn) atomicAdd(bad, 1); __syncwarp();
                if (threadIdx.x == 0) ref<u32>(to_first->flag).store(turn, relaxed);
            }
        }
        return;
    }
    // One thread takes part, and the others of its block wait for it, as for data.
    if (threadIdx.x == 0 && is1) {
        // Untimed pauses of varying length: otherwise all turns would meet the same point between two polls.
        long long paused = 0; u64 random = 88172645463325252ull; u32 turn = first;
        const long long start = clock64();
        for (u32 k = 0; k < turns; k++) {
            random ^= random << 13, random ^= random >> 7, random ^= random << 17;
            const long long begin = clock64(), length = random % 1021; long long now;
            do now = clock64(); while (now - begin < length);
            paused += now - begin;
            put<K>(to_second, turn); if (get<K>(to_first, turn) != turn) atomicAdd(bad, 1);
            turn++;
        }
        *out = clock64() - start - paused;
    } else if (threadIdx.x == 0 && is2) {
        for (u32 turn = first; turn < first + turns; turn++) { if (get<K>(to_second, turn) != turn) atomicAdd(bad, 1); put<K>(to_first, turn); }
    }
    __syncthreads();
}

// Latency of an atomic operation on each page, from each multiprocessor.
__global__ void probe(char *memory, int pages, u32 *latency) {
    u32 sm; asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    for (int page = 0; page < pages; page++) {
        u32 best = ~0u, value = 0;
        for (int time = 0; time < 8; time++) {
            const long long start = clock64();
            for (int i = 0; i < 4; i++) value = atomicAdd((u32 *)(memory + page * 4096ull) + (value >> 31), 0);
            if (value == 77) latency[0] = 0;
            best = min(best, (u32)(clock64() - start) / 4);
        }
        latency[sm * pages + page] = best;
    }
}

__global__ void part(u32 *counters, u32 size, u32 first, u32 turns, long long *out) {
    u32 *const counter = counters + blockIdx.x / size * 32;
    const long long start = clock64();
    for (u32 turn = first; turn < first + turns; turn++) {
        __syncthreads();
        if (threadIdx.x == 0) {
            asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(counter) : "memory");
            const long long began = clock64(); while (clock64() - began < 350) {}
            u32 found; do asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(found) : "l"(counter) : "memory"); while ((int)(found - turn * size) < 0);
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = clock64() - start;
}

// Two blocks of a cluster, through their shared memory.
enum Through { C_RELAXED, C_RELEASE, C_ASYNC };
template <Through K> __global__ void __cluster_dims__(2) in_cluster(u32 turns, long long *out, u32 *bad) {
    __shared__ u32 flag, data; __shared__ u64 object;
    const u32 rank = blockIdx.x; u32 there_flag, there_data, there_object; const u32 here_object = (u32)__cvta_generic_to_shared(&object);
    auto other = [&](const void *mine) { u32 address; asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"((u32)__cvta_generic_to_shared(mine)), "r"(1 - rank)); return address; };
    // Otherwise its address is recomputed from special registers in each turn.
    u32 data_here = (u32)__cvta_generic_to_shared(&data); asm volatile("" : "+r"(data_here));
    auto read = [&] { u32 found; asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(found) : "r"(data_here) : "memory"); return found; };
    there_flag = other(&flag), there_data = other(&data), there_object = other(&object);
    if (threadIdx.x == 0) { flag = data = 0; asm volatile("mbarrier.init.shared.b64 [%0], 1; fence.mbarrier_init.release.cluster;" ::"r"(here_object) : "memory"); if (K == C_ASYNC) asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 4;" ::"r"(here_object) : "memory"); }
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
    auto put = [&](u32 turn) {
        if (K == C_RELAXED) asm volatile("st.relaxed.cluster.shared::cluster.u32 [%0], %1;" ::"r"(there_flag), "r"(turn) : "memory");
        if (K == C_RELEASE) asm volatile("st.shared::cluster.u32 [%0], %2; st.release.cluster.shared::cluster.u32 [%1], %2;" ::"r"(there_data), "r"(there_flag), "r"(turn) : "memory");
        if (K == C_ASYNC) asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(there_data), "r"(turn), "r"(there_object) : "memory");
    };
    auto get = [&](u32 turn) {
        if (K == C_RELAXED) { u32 found; do asm volatile("ld.relaxed.cluster.shared.u32 %0, [%1];" : "=r"(found) : "r"((u32)__cvta_generic_to_shared(&flag)) : "memory"); while (found != turn); return found; }
        if (K == C_RELEASE) { u32 found; do asm volatile("ld.acquire.cluster.shared.u32 %0, [%1];" : "=r"(found) : "r"((u32)__cvta_generic_to_shared(&flag)) : "memory"); while (found != turn); return read(); }
        u32 over; do asm volatile("{.reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}" : "=r"(over) : "r"(here_object), "r"((turn - 1) & 1) : "memory"); while (!over);
        const u32 found = read(); asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 4;" ::"r"(here_object) : "memory"); return found;
    };
    if (threadIdx.x == 0) {
        const long long start = clock64();
        for (u32 turn = 1; turn <= turns; turn++) {
            if (rank == 0) {
                put(turn); if (get(turn) != turn) atomicAdd(bad, 1);
            } else { if (get(turn) != turn) atomicAdd(bad, 1); put(turn); }
        }
        if (rank == 0) *out = clock64() - start;
    }
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
}

static char *memory; static long long *out; static u32 *bad;
static double median(std::vector<double> v) { std::sort(v.begin(), v.end()); return v.empty() ? 0 : v[v.size() / 2]; }
static double mean(const std::vector<double> &v) { double s = 0; for (double x : v) s += x; return s / v.size(); }

template <Kind K> static double one(size_t a, size_t b, int sm1, int sm2) {
    Box *there = (Box *)(memory + a), *back = (Box *)(memory + b);
    OK(cudaMemset(there, 0, sizeof(Box))); OK(cudaMemset(back, 0, sizeof(Box)));
    u32 first = 1; double times[2] = {1e30, 1e30};
    for (int k = 0; k < 4; k++) {
        const u32 turns = k % 2 ? 800 : 400; long long cycles;
        play<K><<<sm1 < 0 ? 2 : 132, 32>>>(there, back, first, turns, sm1, sm2, out, bad);
        OK(cudaMemcpy(&cycles, out, 8, cudaMemcpyDeviceToHost)); first += turns; times[k % 2] = std::min(times[k % 2], (double)cycles);
    }
    return (times[1] - times[0]) / 400;
}
template <Kind K> static void all(const char *id, const char *order, const std::vector<std::vector<size_t>> &pages, const std::vector<int> &half) {
    std::vector<double> any, near, far;
    for (int k = 0; k < 48; k++) any.push_back(one<K>((k * 7919 % 4096) * 4096ull + 512 * (k % 4), (k * 104729 % 4096) * 4096ull + 1536, -1, -1));
    for (int k = 0; k < 24; k++) {
        const int sm1 = k * 5 % 132, h = half[sm1];
        std::vector<int> same, other;
        for (int sm = 0; sm < 132; sm++) if (sm != sm1) (half[sm] == h ? same : other).push_back(sm);
        const size_t here = pages[h][k % pages[h].size()], there = pages[1 - h][k * 3 % pages[1 - h].size()];
        if (!same.empty()) near.push_back(one<K>(here, here + 2048, sm1, same[k * 37 % same.size()]));
        // Each block polls the box near itself.
        if (!other.empty()) far.push_back(one<K>(there, here, sm1, other[k * 37 % other.size()]));
    }
    printf("primitive=%s order=%s group= blocks=2 threads=32 cycles=%.1f\n", id, order, mean(any));
    printf("primitive=%s order=%s group=near blocks=132 threads=32 cycles=%.1f\n", id, order, median(near));
    printf("primitive=%s order=%s group=far blocks=132 threads=32 cycles=%.1f\n", id, order, median(far)); fflush(stdout);
    std::sort(far.begin(), far.end());
    printf("# far: %.1f to %.1f\n", far[1], far[far.size() - 2]);
}
int main() {
    const int PAGES = 64;
    OK(cudaMalloc((void **)&memory, 4097 * 4096ull)); OK(cudaMalloc((void **)&out, 132 * 8)); OK(cudaMalloc((void **)&bad, 4)); OK(cudaMemset(bad, 0, 4)); OK(cudaMemset(memory, 0, 4097 * 4096ull));
    u32 *latency; OK(cudaMalloc((void **)&latency, 132 * PAGES * 4));
    for (int k = 0; k < 2; k++) probe<<<132, 1>>>(memory, PAGES, latency);
    std::vector<u32> l(132 * PAGES); OK(cudaMemcpy(l.data(), latency, l.size() * 4, cudaMemcpyDeviceToHost));
    // Pages near to and far from multiprocessor 0; a multiprocessor belongs to the pages near it.
    const u32 lo = *std::min_element(l.begin(), l.begin() + PAGES), hi = *std::max_element(l.begin(), l.begin() + PAGES);
    std::vector<std::vector<size_t>> pages(2); std::vector<int> half(132);
    for (int p = 0; p < PAGES; p++) pages[l[p] > (lo + hi) / 2].push_back(p * 4096ull);
    for (int sm = 0; sm < 132; sm++) { double s[2] = {0, 0}; for (int p = 0; p < PAGES; p++) s[l[p] > (lo + hi) / 2] += l[sm * PAGES + p]; half[sm] = s[0] / pages[0].size() > s[1] / pages[1].size(); }
    printf("# latency %u to %u cycles, pages %zu and %zu, multiprocessors %d and %d\n", lo, hi, pages[0].size(), pages[1].size(), (int)std::count(half.begin(), half.end(), 0), (int)std::count(half.begin(), half.end(), 1));
    all<RELAXED>("gpu.handoff.flag", "relaxed", pages, half); all<RELEASE>("gpu.handoff.flag", "", pages, half); all<FENCED>("gpu.handoff.fenced", "", pages, half);
    all<COUNT>("gpu.handoff.count", "", pages, half); all<PACKED>("gpu.handoff.packed", "", pages, half); all<STREAM>("gpu.handoff.stream", "", pages, half);
    auto clusters = [](const char *id, const char *order, void (*kernel)(u32, long long *, u32 *)) {
        std::vector<double> v; for (int k = 0; k < 21; k++) { double t[2]; for (int r = 0; r < 2; r++) { long long c; kernel<<<2, 32>>>(r ? 4000 : 2000, out, bad); OK(cudaMemcpy(&c, out, 8, cudaMemcpyDeviceToHost)); t[r] = c; } v.push_back((t[1] - t[0]) / 2000); }
        printf("primitive=%s order=%s group=cluster_2 blocks=2 threads=32 cycles=%.1f\n", id, order, median(v)); fflush(stdout);
    };
    clusters("gpu.handoff.cluster", "relaxed", in_cluster<C_RELAXED>); clusters("gpu.handoff.cluster", "", in_cluster<C_RELEASE>); clusters("gpu.handoff.cluster_async", "", in_cluster<C_ASYNC>);
    for (u32 size : {2u, 8u, 16u, 33u}) {
        const u32 blocks = size; std::vector<double> v;
        for (int k = 0; k < 24; k++) {
            u32 *counters = (u32 *)(memory + (k * 40503 % 4000) * 4096ull); OK(cudaMemset(counters, 0, 66 * 128)); u32 first = 1; double times[2] = {1e30, 1e30};
            for (int r = 0; r < 4; r++) {
                const u32 turns = r % 2 ? 400 : 200; void *a[] = {&counters, (void *)&size, &first, (void *)&turns, &out};
                OK(cudaLaunchCooperativeKernel((void *)part, dim3(blocks), dim3(32), a, 0, 0)); std::vector<long long> o(blocks); OK(cudaMemcpy(o.data(), out, blocks * 8, cudaMemcpyDeviceToHost));
                first += turns; times[r % 2] = std::min(times[r % 2], (double)*std::max_element(o.begin(), o.end()));
            }
            v.push_back((times[1] - times[0]) / 200);
        }
        printf("primitive=gpu.grid.counter order= group= blocks=%u threads=32 cycles=%.1f\n", blocks, median(v));
    }
    u32 b; OK(cudaMemcpy(&b, bad, 4, cudaMemcpyDeviceToHost)); printf("# wrong %u, %s\n", b, cudaGetErrorString(cudaDeviceSynchronize()));
}
