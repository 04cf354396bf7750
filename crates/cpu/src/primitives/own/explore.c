// The model: the runtime of a program whose compiler reports every memory access (-fsanitize=thread), which runs a few threads of it
// one after the other, as all executions of C11 could: RC11 without load buffering, by views (Kang et al., "A Promising Semantics for
// Relaxed-Memory Concurrency", POPL 2017, without promises; Lahav et al., "Repairing Sequential Consistency in C/C++11", PLDI 2017).
//
// A place in memory has the values that were written to it, in their order. A thread has a view: the oldest value of each place that it
// may still read. A value that was released carries the view of its writer, which a thread that acquires it joins to its own. Clocks in
// the views tell whether plain accesses are ordered. A thread that reads the same again and again waits until another value is there.
//
// Executions are explored by the number of their deviations: a thread that is interrupted, a value that is not the newest one, a store
// that comes before another one. Each is replayed from its choices.
#define _GNU_SOURCE
#include <errno.h>
#include <link.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

// `trial.h`.
void syncscope_trial_begin(unsigned threads);
void syncscope_trial_run(unsigned number, unsigned threads, unsigned times);
void syncscope_trial_end(unsigned threads, unsigned times);

enum { MOST = 4, PLACES = 64, MESSAGES = 2048, STEPS = 1000, CHOICES = 4096, SHADOWS = 1 << 14, VISITS = 32, STACK = 1 << 18 };
enum { GAP = 1 << 16, PATIENCE = 1000, STREAK = 60, NOBODY = -1 };
enum { RELAXED, CONSUME, ACQUIRE, RELEASE, ACQ_REL, SEQ_CST };
enum { PLAIN_READ, PLAIN_WRITE, ATOMIC_READ, ATOMIC_WRITE, KINDS };
enum state { READY, WAITS, SLEEPS, MEETS, DONE };
enum ending { BEGINS, ENDS, IS_CUT, BREAKS };

struct view {
    uint32_t clock[MOST], seen[PLACES];
};

struct message {
    uint64_t value;
    uint32_t at;  // its position in the order of the place
    int before, behind, by, is_update;
    struct view view;
};

struct place {
    uintptr_t address;
    unsigned size;
    int newest, is_dirty;  // a plain write has changed it
};

struct shadow {
    uintptr_t address;
    uint64_t execution;
    struct {
        uint32_t clock;
        uintptr_t site;
    } last[KINDS][MOST];
};

struct strand {
    struct view now, acquired, released;
    jmp_buf here, base;
    enum state state;
    int has_begun, was_tried;
    unsigned patience;
    uintptr_t sleeps_on;
    uint64_t progress;
    struct visit {
        uintptr_t site;
        uint64_t value, progress;
        int place;
    } visits[VISITS];
    unsigned visited;
    char *local;
};

// All that the model remembers: the program's own variables are as they were at first in each execution.
static struct model {
    struct strand strands[MOST];
    struct message messages[MESSAGES];
    struct place places[PLACES];
    struct shadow shadows[SHADOWS];
    struct choice { unsigned short count, chosen; unsigned char costs; } choices[CHOICES];
    struct step { int thread; uintptr_t site; const char *what; uint64_t value; int is_old; } steps[STEPS];
    struct view sequential;
    unsigned threads, times, deviations, left, chosen, known, done, met[MOST], streak;
    int current, message_count, place_count, was_cut, is_over;
    uint64_t execution;
    jmp_buf main;
    ucontext_t first, contexts[MOST];
    char *image, *local, *local_image;
    size_t image_size, local_size;
} *all;

// What assembles the program writes where its calls stand.
extern const struct site { uintptr_t address; int32_t file, line; } __start_syncscope_sites[], __stop_syncscope_sites[];
extern char __data_start[], _end[];

static void print_site(uintptr_t address) {
    const struct site *site = __start_syncscope_sites;
    while (site < __stop_syncscope_sites && site->address != address) site++;
    const int is_known = site < __stop_syncscope_sites;
    fprintf(stderr, " %d %d", is_known ? site->file : -1, is_known ? site->line : 0);
}

static _Noreturn void cannot(const char *reason) {
    fprintf(stderr, "cannot %s\n", reason);
    _exit(0);
}

static void print_steps(void) {
    for (unsigned step = 0; step < all->done && step < STEPS; step++) {
        const struct step *one = &all->steps[step];
        fprintf(stderr, "step %d", one->thread);
        print_site(one->site);
        fprintf(stderr, " %s %llu %d\n", one->what, (unsigned long long)one->value, one->is_old);
    }
}

// What is broken: threads and places by the site of their accesses.
static _Noreturn void broken(const char *what, int other, uintptr_t other_site, int thread, uintptr_t site) {
    fprintf(stderr, "broken %s %u %u %d", what, all->threads, all->deviations - all->left, other);
    print_site(other_site);
    fprintf(stderr, " %d", thread);
    print_site(site);
    fputc('\n', stderr);
    print_steps();
    _exit(0);
}

// Of `trial.h`: the check has failed.
void syncscope_broken(const char *what, uint64_t expected, uint64_t found);
void syncscope_broken(const char *what, uint64_t expected, uint64_t found) {
    (void)expected, (void)found;
    broken(what, NOBODY, 0, all->current, 0);
}

static _Noreturn void end(enum ending ending) { _longjmp(all->main, ending); }

// One of so many ways to go on. The first one costs nothing; the others may be deviations.
static unsigned choose(unsigned count, int costs) {
    if (count <= 1) return 0;
    if (costs && all->left == 0) {
        all->was_cut = 1;
        return 0;
    }
    if (all->chosen >= CHOICES) {
        all->was_cut = 1;
        end(IS_CUT);
    }
    struct choice *const choice = &all->choices[all->chosen++];
    if (all->chosen > all->known) {
        *choice = (struct choice){(unsigned short)count, 0, (unsigned char)costs};
        all->known = all->chosen;
    } else if (choice->count != count) {
        cannot("it does not do the same when it is run again");
    }
    if (choice->costs && choice->chosen > 0) all->left--;
    return choice->chosen;
}

static struct strand *self(void) { return &all->strands[all->current]; }

static void join(struct view *view, const struct view *other) {
    for (unsigned thread = 0; thread < all->threads; thread++)
        if (view->clock[thread] < other->clock[thread]) view->clock[thread] = other->clock[thread];
    for (int place = 0; place < all->place_count; place++)
        if (view->seen[place] < other->seen[place]) view->seen[place] = other->seen[place];
}

// Whether a thread that waits may read something else than when it last looked.
static int may_change(const struct strand *strand) {
    for (unsigned at = 0; at < VISITS && at < strand->visited; at++) {
        const struct visit *const visit = &strand->visits[at];
        if (visit->progress != strand->progress) continue;
        const struct place *const place = &all->places[visit->place];
        if (place->is_dirty) return 1;
        for (int number = place->newest; number >= 0; number = all->messages[number].before) {
            if (all->messages[number].at < strand->now.seen[visit->place]) break;
            if (all->messages[number].value != visit->value) return 1;
        }
    }
    return 0;
}

static int is_able(const struct strand *strand) {
    return strand->state == READY || (strand->state == WAITS && (strand->patience > 0 || may_change(strand)));
}

static void move_to(int thread) {
    const int from = all->current;
    if (thread == from) return;
    struct strand *const strand = &all->strands[thread];
    if (all->local_size > 0) {
        if (from >= 0) memcpy(all->strands[from].local, all->local, all->local_size);
        memcpy(all->local, strand->local, all->local_size);
    }
    all->current = thread, all->streak = 0;
    if (from >= 0 && _setjmp(all->strands[from].here)) return;
    if (strand->has_begun) _longjmp(strand->here, 1);
    strand->has_begun = 1;
    _longjmp(strand->base, 1);
}

// Another thread goes on: this one, if there is one, cannot.
static void leave(void) {
    int able[MOST], count = 0, unfinished = 0;
    for (int thread = 0; thread < (int)all->threads; thread++) {
        if (is_able(&all->strands[thread])) able[count++] = thread;
        unfinished += all->strands[thread].state != DONE;
    }
    if (unfinished == 0) end(ENDS);
    for (int thread = 0; count == 0 && thread < (int)all->threads; thread++) {
        // What looks only so many times goes on in the end.
        struct strand *const strand = &all->strands[thread];
        if (strand->state == WAITS && !strand->was_tried) {
            strand->was_tried = 1, strand->patience = PATIENCE;
            able[count++] = thread;
        }
    }
    if (count == 0) {
        uintptr_t site = 0;
        const struct strand *const strand = all->current >= 0 ? self() : &all->strands[0];
        if (strand->state == WAITS && strand->visited > 0) site = strand->visits[(strand->visited - 1) % VISITS].site;
        broken("stuck", NOBODY, 0, all->current, site);
    }
    move_to(able[choose((unsigned)count, 0)]);
}

static void block(enum state state) {
    self()->state = state;
    leave();
    self()->state = READY;
}

// Before each step another thread may come. One that tries again and again, and writes each time, lets others come in the end.
static void turn(void) {
    int able[MOST] = {all->current}, count = 1;
    for (int thread = 0; thread < (int)all->threads; thread++)
        if (thread != all->current && is_able(&all->strands[thread])) able[count++] = thread;
    if (++all->streak > STREAK && count > 1) move_to(able[1 + choose((unsigned)count - 1, 0)]);
    else move_to(able[choose((unsigned)count, 1)]);
}

static void note(uintptr_t site, const char *what, uint64_t value, int is_old) {
    if (self()->patience > 0) return;  // it only looks again
    if (all->done >= STEPS) {
        all->was_cut = 1;
        end(IS_CUT);
    }
    all->steps[all->done++] = (struct step){all->current, site, what, value, is_old};
}

// A plain or atomic access: it and one that is not ordered before it must not be a race.
static void access_bytes(uintptr_t address, unsigned size, int kind, uintptr_t site) {
    static const char conflicts[KINDS][KINDS] = {{0, 1, 0, 1}, {1, 1, 1, 1}, {0, 1, 0, 0}, {1, 1, 0, 0}};
    struct strand *const strand = self();
    // Of a variable of its own a thread has the only one here: the others have theirs at the same address.
    if (address - (uintptr_t)all->local < all->local_size) {
        if (kind >= ATOMIC_READ) cannot("threads share variables of a thread (_Thread_local)");
        return;
    }
    for (uintptr_t byte = address; byte < address + size; byte++) {
        unsigned at = (unsigned)((byte * 0x9E3779B97F4A7C15u) >> 50) % SHADOWS, looked = 0;
        struct shadow *shadow = &all->shadows[at];
        while (shadow->execution == all->execution && shadow->address != byte) {
            if (++looked == SHADOWS / 2) cannot("it uses too much memory");
            shadow = &all->shadows[++at % SHADOWS];
        }
        if (shadow->execution != all->execution) {
            memset(shadow, 0, sizeof *shadow);
            shadow->address = byte, shadow->execution = all->execution;
        }
        for (int other = 0; other < (int)all->threads; other++) {
            for (int old = 0; other != all->current && old < KINDS; old++)
                if (conflicts[kind][old] && shadow->last[old][other].clock > strand->now.clock[other])
                    broken("race", other, shadow->last[old][other].site, all->current, site);
        }
        shadow->last[kind][all->current].clock = strand->now.clock[all->current];
        shadow->last[kind][all->current].site = site;
    }
}

static uint64_t memory_value(uintptr_t address, unsigned size) {
    uint64_t value = 0;
    memcpy(&value, (const void *)address, size);
    return value;
}

static int new_message(int place, int behind, uint64_t value) {
    if (all->message_count >= MESSAGES) {
        all->was_cut = 1;
        end(IS_CUT);
    }
    struct message *const messages = all->messages, *const message = &messages[all->message_count];
    const int next = behind < 0 ? NOBODY : messages[behind].behind;
    const uint32_t before = behind < 0 ? 0 : messages[behind].at;
    *message = (struct message){.value = value, .before = behind, .behind = next, .by = all->current};
    message->at = next < 0 ? before + GAP : before + (messages[next].at - before) / 2;
    if (behind >= 0) messages[behind].behind = all->message_count;
    if (next >= 0) messages[next].before = all->message_count;
    else all->places[place].newest = all->message_count;
    return all->message_count++;
}

// The place of an atomic variable, with what plain writes left there.
static int place_of(uintptr_t address, unsigned size) {
    int number = 0;
    while (number < all->place_count && all->places[number].address != address) number++;
    struct place *const place = &all->places[number];
    if (number == all->place_count) {
        for (int other = 0; other < number; other++)
            if (address < all->places[other].address + all->places[other].size && all->places[other].address < address + size)
                cannot("atomic accesses overlap");
        if (number == PLACES) cannot("it has too many atomic variables");
        *place = (struct place){address, size, NOBODY, 0};
        all->place_count++;
        new_message(number, NOBODY, memory_value(address, size));
    } else if (place->size != size) {
        cannot("atomic accesses to the same bytes have different sizes");
    }
    return number;
}

static void clean(int number) {
    struct place *const place = &all->places[number];
    if (!place->is_dirty) return;
    place->is_dirty = 0;
    const int message = new_message(number, place->newest, memory_value(place->address, place->size));
    self()->now.seen[number] = all->messages[message].at;
}

static struct visit *visit_of(struct strand *strand, uintptr_t site, int place) {
    for (unsigned at = 0; at < VISITS && at < strand->visited; at++)
        if (strand->visits[at].site == site && strand->visits[at].place == place) return &strand->visits[at];
    return NULL;
}

// Waits where the thread has seen all of this already and would only look again.
static void wait_for_change(uintptr_t site, int place) {
    struct strand *const strand = self();
    const struct visit *const visit = visit_of(strand, site, place);
    while (visit != NULL && visit->progress == strand->progress && !may_change(strand)) {
        if (strand->patience > 0) {
            strand->patience--;
            return;
        }
        block(WAITS);
    }
}

static void remember(uintptr_t site, int place, uint64_t value, int changes) {
    struct strand *const strand = self();
    struct visit *visit = visit_of(strand, site, place);
    const int is_new = visit == NULL || visit->value != value;
    if (is_new || changes) {
        strand->progress++, strand->patience = 0;
        for (unsigned thread = 0; thread < all->threads; thread++) all->strands[thread].was_tried = 0;
    }
    if (visit == NULL) visit = &strand->visits[strand->visited++ % VISITS];
    *visit = (struct visit){site, value, strand->progress, place};
}

// The oldest position that an access may see.
static uint32_t floor_of(int place, int order) {
    const uint32_t seen = self()->now.seen[place], sequential = all->sequential.seen[place];
    return order == SEQ_CST && sequential > seen ? sequential : seen;
}

static int takes_update(int message) {
    const int behind = all->messages[message].behind;
    return behind < 0 || (!all->messages[behind].is_update && all->messages[behind].at - all->messages[message].at > 1);
}

// One of the messages from the newest one back, of those that are wanted.
static int pick(int place, int order, int (*is_wanted)(int message, uint64_t expected), uint64_t expected) {
    int found[MESSAGES], count = 0;
    const uint32_t floor = floor_of(place, order);
    for (int number = all->places[place].newest; number >= 0 && all->messages[number].at >= floor; number = all->messages[number].before)
        if (is_wanted(number, expected)) found[count++] = number;
    return found[choose((unsigned)count, 1)];
}

static int is_any(int message, uint64_t expected) { return (void)message, (void)expected, 1; }
static int is_for_update(int message, uint64_t expected) { return (void)expected, takes_update(message); }
static int is_for_swap(int message, uint64_t expected) {
    return all->messages[message].value != expected || takes_update(message);
}

static int acquires(int order) { return order != RELAXED && order != RELEASE; }
static int releases(int order) { return order >= RELEASE; }

static void see(int place, int message, int order) {
    struct strand *const strand = self();
    strand->now.seen[place] = all->messages[message].at;
    join(&strand->acquired, &all->messages[message].view);
    if (acquires(order)) join(&strand->now, &all->messages[message].view);
}

static void write_behind(int place, int behind, uint64_t value, int order, int is_update) {
    struct strand *const strand = self();
    const int number = new_message(place, behind, value);
    struct message *const message = &all->messages[number];
    strand->now.seen[place] = message->at;
    message->is_update = is_update;
    message->view = releases(order) ? strand->now : strand->released;
    // What a value was released with is passed on by those who change it.
    if (is_update) join(&message->view, &all->messages[behind].view);
    if (order == SEQ_CST) all->sequential.seen[place] = message->at;
    if (all->places[place].newest == number) memcpy((void *)all->places[place].address, &value, all->places[place].size);
    strand->now.clock[all->current]++;
}

static uint64_t load(uintptr_t address, unsigned size, int order, uintptr_t site) {
    turn();
    const int place = place_of(address, size);
    wait_for_change(site, place);
    access_bytes(address, size, ATOMIC_READ, site);
    clean(place);
    const int message = pick(place, order, is_any, 0);
    const uint64_t value = all->messages[message].value;
    see(place, message, order);
    remember(site, place, value, 0);
    note(site, "reads", value, message != all->places[place].newest);
    return value;
}

static void store(uintptr_t address, unsigned size, uint64_t value, int order, uintptr_t site) {
    turn();
    const int place = place_of(address, size);
    access_bytes(address, size, ATOMIC_WRITE, site);
    clean(place);
    const int behind = pick(place, order, is_for_update, 0), is_old = behind != all->places[place].newest;
    write_behind(place, behind, value, order, 0);
    remember(site, place, value, 1);
    note(site, "writes", value, is_old);
}

static uint64_t changed(uint64_t value, char operation, uint64_t operand) {
    switch (operation) {
    case '+': return value + operand;
    case '-': return value - operand;
    case '&': return value & operand;
    case '|': return value | operand;
    case '^': return value ^ operand;
    case '~': return ~(value & operand);
    default: return operand;
    }
}

static uint64_t of_size(uint64_t value, unsigned size) { return size == 8 ? value : value & ((UINT64_C(1) << 8 * size) - 1); }

static uint64_t update(uintptr_t address, unsigned size, char operation, uint64_t operand, int order, uintptr_t site) {
    turn();
    const int place = place_of(address, size);
    wait_for_change(site, place);
    access_bytes(address, size, ATOMIC_WRITE, site);
    clean(place);
    const int message = pick(place, order, is_for_update, 0), is_old = message != all->places[place].newest;
    const uint64_t value = all->messages[message].value, to = of_size(changed(value, operation, operand), size);
    see(place, message, order);
    write_behind(place, message, to, order, 1);
    remember(site, place, value, value != to);
    note(site, "reads", value, is_old);
    note(site, "writes", to, 0);
    return value;
}

static int swap(uintptr_t address, unsigned size, void *expected, uint64_t to, int order, int in_vain, uintptr_t site) {
    turn();
    const int place = place_of(address, size);
    wait_for_change(site, place);
    access_bytes(address, size, ATOMIC_WRITE, site);
    clean(place);
    const uint64_t wanted = memory_value((uintptr_t)expected, size);
    const int message = pick(place, order == SEQ_CST ? order : in_vain, is_for_swap, wanted);
    const int is_old = message != all->places[place].newest;
    const uint64_t value = all->messages[message].value;
    const int succeeds = value == wanted;
    see(place, message, succeeds ? order : in_vain);
    if (succeeds) write_behind(place, message, to, order, 1);
    remember(site, place, value, succeeds && value != to);
    note(site, "reads", value, is_old);
    if (succeeds) note(site, "writes", to, 0);
    memcpy(expected, &value, size);
    return succeeds;
}

static int is_running(void) { return all != NULL && all->current >= 0; }

void __tsan_atomic_thread_fence(int order) {
    if (!is_running()) return;
    if (order == SEQ_CST) turn();
    struct strand *const strand = self();
    if (acquires(order)) join(&strand->now, &strand->acquired);
    if (order == SEQ_CST) {
        for (int place = 0; place < all->place_count; place++) {
            uint32_t *const sequential = &all->sequential.seen[place], *const seen = &strand->now.seen[place];
            if (*seen < *sequential) *seen = *sequential;
            *sequential = *seen;
        }
    }
    if (releases(order)) strand->released = strand->now;
    strand->now.clock[all->current]++;
}

void __tsan_atomic_signal_fence(int order) { (void)order; }
void __tsan_init(void) {}
void __tsan_func_entry(void *caller) { (void)caller; }
void __tsan_func_exit(void) {}
void __tsan_vptr_read(void **pointer) { (void)pointer; }
void __tsan_vptr_update(void **pointer, void *value) { (void)pointer, (void)value; }

#define SITE ((uintptr_t)__builtin_return_address(0))

static void plain(uintptr_t address, unsigned size, int kind, uintptr_t site) {
    if (!is_running()) return;
    access_bytes(address, size, kind, site);
    for (int place = 0; kind == PLAIN_WRITE && place < all->place_count; place++)
        if (address < all->places[place].address + all->places[place].size && all->places[place].address < address + size)
            all->places[place].is_dirty = 1;
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
        *address = (uint##BITS##_t)changed(old, SIGN, value);                                                              \
        return old;                                                                                                        \
    }
#define SWAP(BITS, NAME)                                                                                                    \
    int __tsan_atomic##BITS##_compare_exchange_##NAME(volatile uint##BITS##_t *address, uint##BITS##_t *expected,           \
                                                      uint##BITS##_t value, int order, int in_vain) {                      \
        if (is_running()) return swap((uintptr_t)address, BITS / 8, expected, value, order, in_vain, SITE);                 \
        const int succeeds = *address == *expected;                                                                        \
        if (succeeds) *address = value;                                                                                    \
        else *expected = *address;                                                                                         \
        return succeeds;                                                                                                   \
    }
#define VALUE(BITS)                                                                                                        \
    uint##BITS##_t __tsan_atomic##BITS##_compare_exchange_val(volatile uint##BITS##_t *address, uint##BITS##_t expected,    \
                                                              uint##BITS##_t value, int order, int in_vain) {              \
        if (is_running()) swap((uintptr_t)address, BITS / 8, &expected, value, order, in_vain, SITE);                       \
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
    UPDATE(BITS, fetch_or, '|') UPDATE(BITS, fetch_xor, '^') UPDATE(BITS, fetch_nand, '~') SWAP(BITS, strong) SWAP(BITS, weak) \
    VALUE(BITS)
ATOMIC(8) ATOMIC(16) ATOMIC(32) ATOMIC(64)

// What waits is waited for in any case.
void syncscope_model_pause(void) {}
int sched_yield(void) { return 0; }
int usleep(useconds_t time) { return (void)time, 0; }
int nanosleep(const struct timespec *time, struct timespec *left) { return (void)time, (void)left, 0; }

// Neighbouring threads meet, and each sees what the others did.
void syncscope_model_meet_part(unsigned first, unsigned count);
void syncscope_model_meet_part(unsigned first, unsigned count) {
    turn();
    if (++all->met[first] < count) return block(MEETS);
    all->met[first] = 0;
    struct view together = {{0}, {0}};
    for (unsigned thread = first; thread < first + count; thread++) join(&together, &all->strands[thread].now);
    for (unsigned thread = first; thread < first + count; thread++) {
        struct strand *const strand = &all->strands[thread];
        join(&strand->now, &together);
        strand->now.clock[thread]++;
        if (strand->state == MEETS) strand->state = READY;
    }
}

void syncscope_model_meet(void *me) {
    (void)me;
    syncscope_model_meet_part(0, all->threads);
}

// The futex: the comparison and the begin of the sleep are one step. The kernel compares behind a full barrier, with a value that may
// be older than the newest one: a store may still be on its way.
static int is_found_by_kernel(uintptr_t address, uint32_t value) {
    __tsan_atomic_thread_fence(SEQ_CST);
    const int place = place_of(address, 4);
    clean(place);
    const int message = pick(place, RELAXED, is_any, 0);
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
        if (!is_found_by_kernel(address, value)) return errno = EAGAIN, -1;
        self()->sleeps_on = address;
        self()->progress++;
        block(SLEEPS);
        return 0;
    }
    if (operation != 1 && operation != 10) cannot("it makes an unknown call of the futex");
    // Whoever compares later finds what was written before.
    __tsan_atomic_thread_fence(SEQ_CST);
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
    self()->state = DONE;
    leave();
}

// The variables of the program as they were before the first execution.
static void reset(void) {
    memcpy(__data_start, all->image, all->image_size);
    all->message_count = all->place_count = 0;
    all->chosen = all->done = 0;
    memset(all->met, 0, sizeof all->met);
    all->left = all->deviations, all->current = NOBODY;
    all->execution++;
    memset(&all->sequential, 0, sizeof all->sequential);
    for (unsigned thread = 0; thread < MOST; thread++) {
        struct strand *const strand = &all->strands[thread];
        strand->state = READY, strand->has_begun = strand->was_tried = 0;
        strand->progress = strand->visited = strand->patience = 0;
        memset(&strand->now, 0, sizeof strand->now);
        strand->now.clock[thread] = 1;
        strand->acquired = strand->released = (struct view){{0}, {0}};
        memcpy(strand->local, all->local_image, all->local_size);
    }
}

static void execute(void) {
    reset();
    syncscope_trial_begin(all->threads);
    switch (_setjmp(all->main)) {
    case BEGINS: move_to((int)choose(all->threads, 0)); break;
    case ENDS:
        all->current = NOBODY;
        syncscope_trial_end(all->threads, all->times);
    }
    all->current = NOBODY;
}

// The next execution by its choices; 0 after the last one.
static int advance(void) {
    all->known = all->chosen;
    while (all->known > 0) {
        struct choice *const choice = &all->choices[all->known - 1];
        if (choice->chosen + 1 < choice->count) return ++choice->chosen, 1;
        all->known--;
    }
    return 0;
}

static double now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void crash(int signal) { (void)signal, broken("crash", NOBODY, 0, all->current, 0); }

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

static void open_model(void) {
    all = pages(sizeof *all);
    dl_iterate_phdr(find_local, NULL);
    all->image_size = (size_t)(_end - __data_start);
    all->image = pages(all->image_size);
    all->local_image = pages(all->local_size + 1);
    memcpy(all->local_image, all->local, all->local_size);
    memcpy(all->image, __data_start, all->image_size);
    for (int thread = 0; thread < MOST; thread++) {
        all->strands[thread].local = pages(all->local_size + 1);
        ucontext_t *const context = &all->contexts[thread];
        getcontext(context);
        context->uc_stack.ss_sp = pages(STACK), context->uc_stack.ss_size = STACK, context->uc_link = NULL;
        makecontext(context, live, 0);
        all->current = thread;
        swapcontext(&all->first, context);
    }
    all->current = NOBODY;
    const stack_t stack = {.ss_sp = pages(STACK), .ss_size = STACK};
    sigaltstack(&stack, NULL);
    const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    for (unsigned at = 0; at < sizeof signals / sizeof *signals; at++)
        sigaction(signals[at], &(struct sigaction){.sa_handler = crash, .sa_flags = SA_ONSTACK}, NULL);
}

// The sizes of the model: seconds, then threads and times of each.
int main(int count, char **words) {
    static struct { unsigned threads, times, is_complete, deviations; uint64_t executions; } *sizes;
    const struct rlimit memory = {1 << 30, 1 << 30}, core = {0, 0};
    setrlimit(RLIMIT_AS, &memory), setrlimit(RLIMIT_CORE, &core);
    const int number = count / 2 - 1;
    if (number < 1 || count % 2 != 0) return 2;
    sizes = pages((size_t)number * sizeof *sizes);
    // Processor time; where other programs have the CPUs, it ends before whoever waits for it gives up.
    const double seconds = atof(words[1]), latest = now(CLOCK_MONOTONIC) + 3 * seconds;
    open_model();
    for (int size = 0; size < number; size++)
        sizes[size].threads = (unsigned)atoi(words[2 + 2 * size]), sizes[size].times = (unsigned)atoi(words[3 + 2 * size]);
    volatile int is_late = 0, is_open = 1;
    for (volatile unsigned deviations = 0; is_open && !is_late; deviations++) {
        is_open = 0;
        for (volatile int size = 0; size < number && !is_late; size++) {
            if (sizes[size].is_complete) continue;
            all->threads = sizes[size].threads, all->times = sizes[size].times;
            all->deviations = deviations, all->known = 0, all->was_cut = 0;
            do {
                execute();
                sizes[size].executions++;
                is_late = sizes[size].executions % 64 == 0 &&
                          (now(CLOCK_PROCESS_CPUTIME_ID) > seconds || now(CLOCK_MONOTONIC) > latest);
            } while (!is_late && advance());
            if (is_late) break;
            sizes[size].deviations = deviations;
            sizes[size].is_complete = !all->was_cut;
            is_open |= all->was_cut;
        }
    }
    for (int size = 0; size < number; size++)
        fprintf(stderr, "held %u %u %d %u %llu\n", sizes[size].threads, sizes[size].times, sizes[size].executions > 0 ? (int)sizes[size].deviations : -1,
                sizes[size].is_complete, (unsigned long long)sizes[size].executions);
    return 0;
}
