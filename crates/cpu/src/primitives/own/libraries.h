// Library functions for a program in the model, which the library itself would not report: copies of memory, the heap, the first
// use of static variables, and mutexes. This file comes between `memory.h` and `explore.c`.
#define SITE ((uintptr_t)__builtin_return_address(0))

static int is_running(void);
static void plain(uintptr_t address, unsigned size, int kind, uintptr_t site);

#define COPY(NAME)                                                                     \
    void *__tsan_##NAME(void *to, const void *from, unsigned long size) {              \
        plain((uintptr_t)from, (unsigned)size, PLAIN_READ, SITE);                      \
        plain((uintptr_t)to, (unsigned)size, PLAIN_WRITE, SITE);                       \
        return memmove(to, from, size);                                                \
    }
COPY(memcpy) COPY(memmove)
void *__tsan_memset(void *to, int value, unsigned long size) {
    plain((uintptr_t)to, (unsigned)size, PLAIN_WRITE, SITE);
    return memset(to, value, size);
}

// No memory is given out twice in an execution: a real heap may do so, but the program must not rely on the order that this
// implies. Each block follows its size. Blocks from before the first execution start each execution as they were at first, and
// what is given out later is zero.
enum { HEAP = 1 << 26, UNIT = 64, MOST_FREED = 1024 };
static struct heap {
    size_t used, kept, first_size;
    char *image, first[];
} *heap;

static void *allocate(size_t size, size_t unit) {
    if (heap == NULL) {
        heap = mmap(NULL, HEAP, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (heap == MAP_FAILED) cannot("there is no memory for it");
        heap->used = sizeof *heap;
    }
    if (unit < UNIT) unit = UNIT;
    const size_t at = (heap->used + sizeof size + unit - 1) / unit * unit;
    if (size > HEAP || at + size > HEAP) cannot("it uses too much memory");
    heap->used = at + size;
    char *const block = (char *)heap + at;
    memcpy(block - sizeof size, &size, sizeof size);
    return block;
}

static size_t size_of(const void *block) {
    size_t size;
    memcpy(&size, (const char *)block - sizeof size, sizeof size);
    return size;
}

// Other threads may not access a released block any more: releasing counts as a write to its beginning.
static void release_block(void *block, uintptr_t site) {
    if (block == NULL || !is_running()) return;
    const size_t size = size_of(block);
    plain((uintptr_t)block, (unsigned)(size < MOST_FREED ? size : MOST_FREED), PLAIN_WRITE, site);
}

static void keep_heap(void) {
    heap->first_size = heap->used - sizeof *heap;
    heap->image = memcpy(allocate(heap->first_size, 0), heap->first, heap->first_size);
    heap->kept = heap->used;
}
static void forget_heap(void) {
    memset((char *)heap + heap->kept, 0, heap->used - heap->kept);
    memcpy(heap->first, heap->image, heap->first_size);
    heap->used = heap->kept;
}

void *malloc(size_t size) { return allocate(size, 0); }
void *calloc(size_t count, size_t size) {
    size_t all;
    if (__builtin_mul_overflow(count, size, &all)) return NULL;
    return memset(allocate(all, 0), 0, all);
}
void *realloc(void *block, size_t size) {
    void *const other = allocate(size, 0);
    if (block == NULL) return other;
    const size_t old = size_of(block), both = old < size ? old : size;
    if (is_running()) plain((uintptr_t)block, (unsigned)(both < MOST_FREED ? both : MOST_FREED), PLAIN_READ, SITE);
    memcpy(other, block, both);
    release_block(block, SITE);
    return other;
}
void *aligned_alloc(size_t unit, size_t size) { return allocate(size, unit); }
void *memalign(size_t unit, size_t size) { return allocate(size, unit); }
int posix_memalign(void **block, size_t unit, size_t size) { return *block = allocate(size, unit), 0; }
void free(void *block) { release_block(block, SITE); }

// `new` and `delete` of C++: those of the library would call the functions above from inside the library.
#define NEW(NAME) void *NAME(size_t size) { return allocate(size, 0); }
#define NEW_ALIGNED(NAME) void *NAME(size_t size, size_t unit) { return allocate(size, unit); }
NEW(_Znwm) NEW(_Znam) NEW_ALIGNED(_ZnwmSt11align_val_t) NEW_ALIGNED(_ZnamSt11align_val_t)
#define DELETE(NAME) void NAME(void *block) { release_block(block, SITE); }
DELETE(_ZdlPv) DELETE(_ZdaPv) DELETE(_ZdlPvm) DELETE(_ZdaPvm) DELETE(_ZdlPvSt11align_val_t) DELETE(_ZdaPvSt11align_val_t)
DELETE(_ZdlPvmSt11align_val_t) DELETE(_ZdaPvmSt11align_val_t)

// A static variable of a function is initialized once: the first byte of its guard says that this is done, the second byte that
// a thread is doing it.
int __cxa_guard_acquire(char *guard) {
    if (!is_running()) return !*guard;
    const uintptr_t done = (uintptr_t)guard, taken = done + 1;
    for (uint8_t nobody = 0; !load(done, 1, ACQUIRE, SITE); nobody = 0) {
        if (!swap(taken, 1, &nobody, 1, 0, ACQUIRE, ACQUIRE, SITE)) continue;
        if (!load(done, 1, ACQUIRE, SITE)) return 1;
        store(taken, 1, 0, RELEASE, SITE);
    }
    return 0;
}
void __cxa_guard_release(char *guard) {
    if (!is_running()) return (void)(*guard = 1);
    store((uintptr_t)guard, 1, 1, RELEASE, SITE);
    store((uintptr_t)guard + 1, 1, 0, RELEASE, SITE);
}
void __cxa_guard_abort(char *guard) {
    if (is_running()) store((uintptr_t)guard + 1, 1, 0, RELEASE, SITE);
}

// Mutexes: the first word is 1 while a thread has one. A mutex that a thread may take twice, or that reports errors, has a kind.
enum { KIND_OF_MUTEX = 4, KINDS_OF_MUTEX = 3, ADAPTIVE = 3, BUSY = 1 };
static int takes_mutex(int *mutex, uintptr_t site) {
    const int kind = mutex[KIND_OF_MUTEX] & KINDS_OF_MUTEX;
    if (kind != 0 && kind != ADAPTIVE) cannot("it uses a mutex that is recursive or checks for errors");
    uint32_t nobody = 0;
    if (is_running()) return swap((uintptr_t)mutex, sizeof *mutex, &nobody, 1, 0, ACQUIRE, RELAXED, site);
    return *mutex == 0 ? *mutex = 1 : 0;
}
static int leave_mutex(int *mutex, uintptr_t site) {
    if (is_running()) store((uintptr_t)mutex, sizeof *mutex, 0, RELEASE, site);
    else *mutex = 0;
    return 0;
}
#define MUTEX(LOCK, TRY, UNLOCK, IS_BUSY)                                  \
    int LOCK(void *mutex) {                                                \
        while (!takes_mutex(mutex, SITE)) {}                               \
        return 0;                                                          \
    }                                                                      \
    int TRY(void *mutex) { return takes_mutex(mutex, SITE) ? 0 : IS_BUSY; } \
    int UNLOCK(void *mutex) { return leave_mutex(mutex, SITE); }
MUTEX(pthread_mutex_lock, pthread_mutex_trylock, pthread_mutex_unlock, EBUSY)
MUTEX(mtx_lock, mtx_trylock, mtx_unlock, BUSY)
