// The barrier of ggml (ggml-cpu.c, ggml_barrier) against OpenMP's:
//   syncscope measure --cpu examples/measure/ggml_barrier.c --against cpu.barrier.openmp cpu.barrier.sense
// On 16 virtual CPUs of an Emerald Rapids beside other guests (measured/16cpus-ggml_barrier.csv): 1.37 times (1.24 to 1.52) cheaper than
// libgomp at 2 threads, at 8 and 16 no difference shown (1.7 us at 16).
struct ggml { _Alignas(64) atomic_int arrived; _Alignas(64) atomic_int passed; };

void wait(struct thread *me) {
    struct ggml *team = me->memory;
    const int passed = atomic_load_explicit(&team->passed, memory_order_relaxed);
    if (atomic_fetch_add_explicit(&team->arrived, 1, memory_order_seq_cst) == (int)me->threads - 1) {
        atomic_store_explicit(&team->arrived, 0, memory_order_relaxed);
        atomic_fetch_add_explicit(&team->passed, 1, memory_order_seq_cst);
        return;
    }
    while (atomic_load_explicit(&team->passed, memory_order_relaxed) == passed) syncscope_pause();
    atomic_thread_fence(memory_order_seq_cst);
}
