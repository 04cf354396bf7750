// Control flow: divergence, loops, calls, tables of branches.
extern "C" __global__ void divergence(int* out, int n) {
    int x = threadIdx.x, sum = 0;
    for (int i = 0; i < out[x]; i++) {
        if (out[x + i] == n) break;
        if (out[x + i] > n) {
            sum += out[sum];
            continue;
        }
        if (out[x + i] < -n) return;
        while (out[sum] < n) {
            sum += 1;
            if (out[sum + 3] == 4) goto done;
        }
    }
done:
    out[x] = sum;
}

__device__ __noinline__ int recurse(int* p, int n) {
    if (n <= 1) return p[n];
    return recurse(p, n - 1) + recurse(p, n - 2) * p[n];
}

__device__ __noinline__ float leaf(float a, float b) { return a / b + __fsqrt_rn(a); }

typedef int (*Function)(int*, int);
__device__ __noinline__ int twice(int* p, int n) { return p[n] * 2; }
__device__ Function table[2] = {recurse, twice};

extern "C" __global__ void calls(int* out, float* f, int n) {
    out[threadIdx.x] = recurse(out, n) + table[n & 1](out, n);
    f[threadIdx.x] = leaf(f[0], f[threadIdx.x]);
}

extern "C" __global__ void jump_table(int* out, int n) {
    switch (n) {
        case 0: out[1] = out[2]; break;
        case 1: atomicAdd(out, 1); break;
        case 2: __syncthreads(); out[3] = 1; break;
        case 3: out[4] /= out[5]; break;
        case 4: out[5] ^= out[6]; break;
        case 5: out[6] = __popc(out[7]); break;
        case 6: out[7] = __clz(out[8]); break;
        case 7: out[8] = __brev(out[9]); break;
    }
}

extern "C" __global__ void spin(volatile unsigned* flag, unsigned* lock, unsigned n) {
    while (*flag < n) __nanosleep(20);
    for (unsigned tries = 0; tries < 1000 && atomicCAS(lock, 0u, 1u) != 0; tries++) {
    }
    __threadfence();
    atomicExch(lock, 0u);
}

extern "C" __global__ void uniform(int* out, int n, int m) {
    int sum = 0;
    for (int i = 0; i < n; i++) {
        sum += (i * m) ^ (n >> i);
        if (m & (1 << i)) sum -= __popc(m + i);
        if (n > m + i) __syncthreads();
    }
    out[blockIdx.x] = sum;
}
