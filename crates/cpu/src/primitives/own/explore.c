// The runtime of the model: the functions that the compiler calls for each access, the functions by which threads wait, the
// kernel's futex, and the loop over the executions. The memory is in `memory.h`.
static int is_running(void) { return all != NULL && all->current >= 0; }

void __tsan_atomic_thread_fence(int order) {
    if (!is_running()) return;
    take_plain_writes();
    if (order == SEQ_CST && self()->patience == 0) turn();
    struct strand *const strand = self();
    if (acquires(order)) join(&strand->now, &strand->acquired);
    if (order == SEQ_CST) {
        for (int place = 0; place < all->place_count; place++) {
            uint32_t *const sequential = &all->sequential.seen[place], *const floor = &strand->now.sequential[place];
            if (*floor < *sequential) *floor = *sequential;
            if (*sequential < strand->now.seen[place]) *sequential = strand->now.seen[place];
        }
    }
    happen(with_view(all->current, (struct event){.place = NOBODY, .is_sequential = order == SEQ_CST}));
    if (releases(order)) strand->released = strand->now;
    strand->now.clock[all->current]++;
}

void __tsan_atomic_signal_fence(int order) { (void)order; }
void __tsan_init(void) {}
void __tsan_func_entry(void *caller) { (void)caller; }
void __tsan_func_exit(void) {}
void __tsan_vptr_read(void **pointer) { (void)pointer; }
void __tsan_vptr_update(void **pointer, void *value) { (void)pointer, (void)value; }

static void plain(uintptr_t address, unsigned size, int kind, uintptr_t site) {
    if (!is_running()) return;
    take_plain_writes();
    access_bytes(address, size, kind, site);
    self()->was_plain = 1;
    for (int place = 0; kind == PLAIN_WRITE && place < all->place_count; place++)
        if (address < all->places[place].address + all->places[place].size && all->places[place].address < address + size)
            all->places[place].is_dirty = all->is_dirty = 1;
}

#define PLAIN(SIZE)                                                                                            \
    void __tsan_read##SIZE(void *address) { plain((uintptr_t)address, SIZE, PLAIN_READ, SITE); }               \
    void __tsan_write##SIZE(void *address) { plain((uintptr_t)address, SIZE, PLAIN_WRITE, SITE); }             \
    void __tsan_unaligned_read##SIZE(void *address) { plain((uintptr_t)address, SIZE, PLAIN_READ, SITE); }     \
    void __tsan_unaligned_write##SIZE(void *address) { plain((uintptr_t)address, SIZE, PLAIN_WRITE, SITE); }
PLAIN(1) PLAIN(2) PLAIN(4) PLAIN(8) PLAIN(16)
void __tsan_read_range(void *address, unsigned long size) { plain((uintptr_t)address, (unsigned)size, PLAIN_READ, SITE); }
void __tsan_write_range(void *address, unsigned long size) { plain((uintptr_t)address, (unsigned)size, PLAIN_WRITE, SITE); }

#define UPDATE(BITS, NAME, SIGN)                                                                                            \
    uint##BITS##_t __tsan_atomic##BITS##_##NAME(volatile uint##BITS##_t *address, uint##BITS##_t value, int order) {        \
        if (is_running()) return (uint##BITS##_t)update((uintptr_t)address, BITS / 8, SIGN, value, order, SITE);            \
        const uint##BITS##_t old = *address;                                                                               \
        *address = (uint##BITS##_t)changed(old, SIGN, value, BITS / 8);                                                    \
        return old;                                                                                                        \
    }
#define SWAP(BITS, NAME, IS_WEAK)                                                                                                   \
    int __tsan_atomic##BITS##_compare_exchange_##NAME(volatile uint##BITS##_t *address, uint##BITS##_t *expected,           \
                                                      uint##BITS##_t value, int order, int in_vain) {                      \
        if (is_running()) return swap((uintptr_t)address, BITS / 8, expected, value, IS_WEAK, order, in_vain, SITE);        \
        const int succeeds = *address == *expected;                                                                        \
        if (succeeds) *address = value;                                                                                    \
        else *expected = *address;                                                                                         \
        return succeeds;                                                                                                   \
    }
#define VALUE(BITS)                                                                                                        \
    uint##BITS##_t __tsan_atomic##BITS##_compare_exchange_val(volatile uint##BITS##_t *address, uint##BITS##_t expected,    \
                                                              uint##BITS##_t value, int order, int in_vain) {              \
        if (is_running()) swap((uintptr_t)address, BITS / 8, &expected, value, 0, order, in_vain, SITE);                    \
        else __atomic_compare_exchange_n(address, &expected, value, 0, order, in_vain);                                    \
        return expected;                                                                                                   \
    }
#define ATOMIC(BITS)                                                                                                        \
    uint##BITS##_t __tsan_atomic##BITS##_load(const volatile uint##BITS##_t *address, int order) {                          \
        return is_running() ? (uint##BITS##_t)load((uintptr_t)address, BITS / 8, order, SITE) : *address;                   \
    }                                                                                                                      \
    void __tsan_atomic##BITS##_store(volatile uint##BITS##_t *address, uint##BITS##_t value, int order) {                   \
        if (is_running()) store((uintptr_t)address, BITS / 8, value, order, SITE);                                          \
        else *address = value;                                                                                             \
    }                                                                                                                      \
    UPDATE(BITS, exchange, '=') UPDATE(BITS, fetch_add, '+') UPDATE(BITS, fetch_sub, '-') UPDATE(BITS, fetch_and, '&')      \
    UPDATE(BITS, fetch_or, '|') UPDATE(BITS, fetch_xor, '^') UPDATE(BITS, fetch_nand, '~') SWAP(BITS, strong, 0)     \
    SWAP(BITS, weak, 1) VALUE(BITS)
ATOMIC(8) ATOMIC(16) ATOMIC(32) ATOMIC(64)

// Updates that PTX has and C lacks, by the letters of `changed`.
#define OF_PTX(BITS)                                                                                                       \
    uint##BITS##_t __tsan_syncscope##BITS(uint##BITS##_t *address, uint##BITS##_t value, char operation, int order) {       \
        return (uint##BITS##_t)update((uintptr_t)address, BITS / 8, operation, value, order, SITE);                         \
    }
OF_PTX(32) OF_PTX(64)

// Pauses do nothing: waiting loops wait in any case.
void syncscope_model_pause(void) {}
int sched_yield(void) { return 0; }
int usleep(useconds_t time) { return (void)time, 0; }
int nanosleep(const struct timespec *time, struct timespec *left) { return (void)time, (void)left, 0; }

// Limits the scope of the next atomic access to these neighbours, unless the others' scopes are wider.
void syncscope_model_narrow(unsigned first, unsigned count);
void syncscope_model_narrow(unsigned first, unsigned count) {
    if (is_running()) self()->is_narrow = 1, self()->neighbours = ((1u << count) - 1) << first;
}

// Neighbouring threads meet, and each one sees what the others did.
void syncscope_model_meet_part(unsigned first, unsigned count);
void syncscope_model_meet_part(unsigned first, unsigned count) {
    turn();
    learn(self(), GIVES_UP);
    if (++all->met[first] < count) return block(MEETS);
    all->met[first] = 0;
    struct view together = {0};
    for (unsigned thread = first; thread < first + count; thread++) join(&together, &all->strands[thread].now);
    for (unsigned thread = first; thread < first + count; thread++) {
        struct strand *const strand = &all->strands[thread];
        join(&strand->now, &together);
        add_event(with_view((int)thread, (struct event){.place = NOBODY}));
        strand->now.clock[thread]++;
        if (strand->state == MEETS) strand->state = READY;
    }
}

void syncscope_model_meet(void *me) {
    (void)me;
    syncscope_model_meet_part(0, all->threads);
}

// The kernel handles futex calls one after the other, each behind a full barrier.
static void enter_kernel(void) {
    __tsan_atomic_thread_fence(SEQ_CST);
    join(&self()->now, &all->of_kernel);
    all->of_kernel = self()->now;
}

// The comparison and the beginning of the sleep are one step. The value may be older than the newest one: a store may still be
// on its way.
static int is_found_by_kernel(uintptr_t address, uint32_t value) {
    enter_kernel();
    const int place = place_of(address, 4);
    const int message = pick(place, &(struct wanted){.reads = 1});
    see(place, message, RELAXED);
    return (uint32_t)all->messages[message].value == value;
}

long syscall(long number, ...) {
    va_list arguments;
    va_start(arguments, number);
    const uintptr_t address = va_arg(arguments, uintptr_t);
    const int operation = va_arg(arguments, int) & 127;
    const uint32_t value = va_arg(arguments, uint32_t);
    va_end(arguments);
    if (number != SYS_futex || !is_running()) cannot("it makes a system call");
    turn();
    if (operation == 0 || operation == 9) {
        learn(self(), GIVES_UP);
        if (!is_found_by_kernel(address, value)) return errno = EAGAIN, -1;
        self()->sleeps_on = address;
        self()->progress++;
        block(SLEEPS);
        return 0;
    }
    if (operation != 1 && operation != 10) cannot("it makes an unknown call of the futex");
    // A thread that compares later finds what was written before.
    enter_kernel();
    long woken = 0;
    for (unsigned thread = 0; thread < all->threads && woken < (long)value; thread++) {
        struct strand *const strand = &all->strands[thread];
        if (strand->state == SLEEPS && strand->sleeps_on == address) strand->state = READY, woken++;
    }
    return woken;
}

static void live(void) {
    const int number = all->current;
    if (_setjmp(all->strands[number].base) == 0) setcontext(&all->first);
    syncscope_trial_run((unsigned)all->current, all->threads, all->times);
    learn(self(), GIVES_UP);
    self()->state = DONE;
    leave();
}

// Restores the program's variables to their state before the first execution.
static void reset(void) {
    memcpy(__data_start, all->image, all->image_size);
    all->message_count = all->place_count = 0;
    all->chosen = all->done = all->goes_back = all->is_dirty = 0;
    memset(all->met, 0, sizeof all->met);
    all->left = all->deviations, all->current = NOBODY;
    all->execution++;
    memset(&all->sequential, 0, sizeof all->sequential), memset(&all->of_kernel, 0, sizeof all->of_kernel);
    forget_events();
    forget_heap();
    for (unsigned thread = 0; thread < MOST; thread++) {
        struct strand *const strand = &all->strands[thread];
        strand->state = READY, strand->has_begun = strand->was_tried = strand->was_plain = strand->is_narrow = 0;
        strand->tried = NULL;
        strand->progress = strand->visited = strand->patience = 0;
        memset(&strand->now, 0, sizeof strand->now);
        strand->now.clock[thread] = 1;
        strand->acquired = strand->released = (struct view){0};
        memcpy(strand->local, all->local_image, all->local_size);
    }
}

static void execute(void) {
    reset();
    take_variables_of(0);
    syncscope_trial_begin(all->threads);
    switch (_setjmp(all->main)) {
    case BEGINS: move_to((int)choose(all->threads, 0)); break;
    case ENDS:
        all->current = NOBODY;
        take_variables_of(0);
        syncscope_trial_end(all->threads, all->times);
    }
    all->current = NOBODY;
}

// Advances to the next execution by its choices; returns 0 after the last one.
static int advance(void) {
    all->known = all->chosen;
    while (all->known > 0) {
        struct choice *const choice = &all->choices[all->known - 1];
        if (choice->chosen + 1 < choice->count) return ++choice->chosen, 1;
        all->known--;
    }
    return 0;
}

static int goes_on(void) {
    if (!all->has_learned) return advance();
    all->has_learned = all->was_cut = 0, all->known = 0;
    return 1;
}

static double now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void crash(int signal) { (void)signal, broken("crash", NOBODY, 0, all->current, 0); }

// The address from which a thread finds its variables.
static uintptr_t thread_pointer(void) {
    uintptr_t found;
#if defined(__x86_64__)
    __asm__("movq %%fs:0, %0" : "=r"(found));
#elif defined(__aarch64__)
    __asm__("mrs %0, tpidr_el0" : "=r"(found));
#endif
    return found;
}

// Before the constructors of the program, which may use such variables.
__attribute__((constructor(101))) static void begin(void) { syncscope_model_thread_pointer = thread_pointer(); }

static int find_local(struct dl_phdr_info *info, size_t size, void *nothing) {
    (void)size, (void)nothing;
    for (int at = 0; at < info->dlpi_phnum; at++)
        if (info->dlpi_phdr[at].p_type == PT_TLS) all->local = info->dlpi_tls_data, all->local_size = info->dlpi_phdr[at].p_memsz;
    return 1;  // the program itself comes first
}

static void *pages(size_t size) {
    void *const found = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (found == MAP_FAILED) cannot("there is no memory for it");
    return found;
}

// Whether a process has one thread: a library may then leave out its atomic updates, as `std::shared_ptr` does.
extern char __libc_single_threaded __attribute__((weak));

static void open_model(void) {
    if (&__libc_single_threaded != NULL) __libc_single_threaded = 0;
    // The heap has to begin before the program's variables are saved.
    all = pages(sizeof *all), graph = &all->graph, allocate(1, 0);
    dl_iterate_phdr(find_local, NULL);
    all->image_size = (size_t)(_end - __data_start);
    all->image = pages(all->image_size);
    all->local_image = pages(all->local_size + 1);
    memcpy(all->local_image, all->local, all->local_size);
    memcpy(all->image, __data_start, all->image_size);
    for (int thread = 0; thread < MOST; thread++) {
        // The copy begins as the original does within a page, so it has the same alignment.
        struct strand *const strand = &all->strands[thread];
        strand->local = (char *)pages(all->local_size + PAGE) + (uintptr_t)all->local % PAGE;
        strand->thread_pointer = thread_pointer();
        if (all->local_size > 0) strand->thread_pointer += (uintptr_t)strand->local - (uintptr_t)all->local;
        ucontext_t *const context = &all->contexts[thread];
        getcontext(context);
        context->uc_stack.ss_sp = pages(STACK), context->uc_stack.ss_size = STACK, context->uc_link = NULL;
        makecontext(context, live, 0);
        all->current = thread;
        swapcontext(&all->first, context);
    }
    all->current = NOBODY;
    keep_heap();
    const stack_t stack = {.ss_sp = pages(STACK), .ss_size = STACK};
    sigaltstack(&stack, NULL);
    const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    for (unsigned at = 0; at < sizeof signals / sizeof *signals; at++)
        sigaction(signals[at], &(struct sigaction){.sa_handler = crash, .sa_flags = SA_ONSTACK}, NULL);
}

// Sizes with many uses are explored with fewer deviations: a slot that is used again needs many uses, but no strange execution.
enum { FEW_USES = 2, LAG = 2 };

// Arguments: seconds, then for each size the threads and the uses per thread.
int main(int count, char **words) {
    static struct { unsigned threads, times, is_complete, is_held, deviations; uint64_t executions; } *sizes;
    const struct rlimit memory = {1 << 30, 1 << 30}, core = {0, 0};
    setrlimit(RLIMIT_AS, &memory), setrlimit(RLIMIT_CORE, &core);
    const int number = count / 2 - 1;
    if (number < 1 || count % 2 != 0) return 2;
    sizes = pages((size_t)number * sizeof *sizes);
    // Processor time. If other programs have the CPUs, the model ends before the waiting process gives up.
    const double seconds = atof(words[1]), latest = now(CLOCK_MONOTONIC) + 3 * seconds;
    open_model();
    for (int size = 0; size < number; size++)
        sizes[size].threads = (unsigned)atoi(words[2 + 2 * size]), sizes[size].times = (unsigned)atoi(words[3 + 2 * size]);
    volatile int is_late = 0, is_open = 1;
    for (volatile unsigned deviations = 0; is_open && !is_late; deviations++) {
        is_open = 0;
        for (volatile int size = 0; size < number && !is_late; size++) {
            const unsigned lag = sizes[size].times > FEW_USES ? LAG : 0;
            if (sizes[size].is_complete || deviations < lag) continue;
            all->threads = sizes[size].threads, all->times = sizes[size].times;
            all->deviations = deviations - lag, all->known = 0, all->was_cut = 0;
            do {
                execute();
                sizes[size].executions++;
                is_late = sizes[size].executions % 64 == 0 &&
                          (now(CLOCK_PROCESS_CPUTIME_ID) > seconds || now(CLOCK_MONOTONIC) > latest);
            } while (!is_late && goes_on());
            if (is_late) break;
            sizes[size].deviations = all->deviations, sizes[size].is_held = 1;
            sizes[size].is_complete = !all->was_cut;
            is_open |= all->was_cut && lag == 0;
        }
    }
    for (int size = 0; size < number; size++) {
        if (!sizes[size].is_held && sizes[size].times > FEW_USES) continue;
        fprintf(stderr, "held %u %u %d %u %llu\n", sizes[size].threads, sizes[size].times, sizes[size].is_held ? (int)sizes[size].deviations : -1,
                sizes[size].is_complete, (unsigned long long)sizes[size].executions);
    }
    return 0;
}
