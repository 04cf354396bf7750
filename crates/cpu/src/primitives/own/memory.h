// The model: the runtime of a program whose compiler reports every memory access (-fsanitize=thread). It runs a few threads of
// the program one after the other, in all executions that C11 allows: RC11 without load buffering, by views (Kang et al., "A
// Promising Semantics for Relaxed-Memory Concurrency", POPL 2017, without promises; Lahav et al., "Repairing Sequential
// Consistency in C/C++11", PLDI 2017).
//
// A place in memory has the values that were written to it, in their order. A thread has a view: the oldest value of each place
// that it may still read. A released value carries the view of its writer; a thread that acquires the value joins this view to
// its own. Clocks in the views tell whether plain accesses are ordered. A thread that repeats the same reads waits until there
// is another value, or gives up where its code does. `sequential.h` adds what sequential consistency forbids, `libraries.h`
// replaces library functions, and `explore.c` runs the executions: with this file they are one program.
//
// Executions are explored by the number of their deviations: an interrupted thread, a read of a value that is not the newest, a
// store before another one, a loop that is given up, a weak compare-and-swap in vain. Each execution is replayed from its
// choices.
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
extern const int syncscope_has_c_sequences, syncscope_orders_observed;

enum { PLACES = 64, MESSAGES = 2048, STEPS = 1000, CHOICES = 4096, SHADOWS = 1 << 14, VISITS = 32, LOOPS = 256, STACK = 1 << 18, PAGE = 4096 };
// A loop that makes the same reads PATIENCE times counts as one that never gives up.
enum { GAP = 1 << 16, PATIENCE = 1 << 16, STREAK = 60 };
enum { RELAXED, CONSUME, ACQUIRE, RELEASE, ACQ_REL, SEQ_CST };
enum { PLAIN_READ, PLAIN_WRITE, ATOMIC_READ, ATOMIC_WRITE, NARROW_READ, NARROW_WRITE, KINDS };
enum state { READY, WAITS, SLEEPS, MEETS, DONE };
enum ending { BEGINS, ENDS, IS_CUT };
enum { UNKNOWN, ENDLESS, GIVES_UP };

// An access below `sequential` goes back behind a sequentially consistent one. `observed` is the newest value that was read.
struct view {
    uint32_t clock[MOST], seen[PLACES], sequential[PLACES], observed[PLACES];
};

struct message {
    uint64_t value;
    uint32_t at;  // its position in the order of the place
    int before, behind, by, is_update, is_own;  // its view is of nobody else
    struct view view;
};

struct place {
    uintptr_t address;
    unsigned size;
    int newest, is_dirty;  // its thread has changed it by a plain write
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
    int has_begun, was_tried, was_plain, is_narrow;
    unsigned patience, neighbours;  // those whom its narrow accesses reach
    struct loop *tried;
    uintptr_t sleeps_on;
    uint64_t progress;
    struct visit {
        uintptr_t site;
        uint64_t value, progress;
        int place, was_vain;
    } visits[VISITS];
    unsigned visited;
    char *local;
    uintptr_t thread_pointer;
};

// The memory of the model: the program's own variables start each execution as they were at first.
static struct model {
    struct strand strands[MOST];
    struct message messages[MESSAGES];
    struct place places[PLACES];
    struct shadow shadows[SHADOWS];
    struct choice { unsigned short count, chosen; unsigned char costs; } choices[CHOICES];
    struct step { int thread; uintptr_t site; const char *what; uint64_t value; int is_old; } steps[STEPS];
    struct loop { uintptr_t site; int kind; } loops[LOOPS];
    struct view sequential, of_kernel;
    struct graph graph;
    unsigned threads, times, deviations, left, chosen, known, done, met[MOST], streak;
    int current, message_count, place_count, was_cut, has_learned, goes_back, is_dirty;
    uint64_t execution;
    jmp_buf main;
    ucontext_t first, contexts[MOST];
    char *image, *local, *local_image;
    size_t image_size, local_size;
} *all;

// The table of call sites, written by the program's assembly.
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

// Reports a violation: threads and places by the sites of their accesses.
static _Noreturn void broken(const char *what, int other, uintptr_t other_site, int thread, uintptr_t site) {
    fprintf(stderr, "times %u\n", all->times);
    fprintf(stderr, "broken %s %u %u %d", what, all->threads, all->deviations - all->left, other);
    print_site(other_site);
    fprintf(stderr, " %d", thread);
    print_site(site);
    fputc('\n', stderr);
    print_steps();
    _exit(0);
}

// Called by `trial.h` when the check has failed.
void syncscope_broken(const char *what, uint64_t expected, uint64_t found);
void syncscope_broken(const char *what, uint64_t expected, uint64_t found) {
    (void)expected, (void)found;
    broken(what, NOBODY, 0, all->current, 0);
}

static _Noreturn void end(enum ending ending) { _longjmp(all->main, ending); }

// Chooses one of `count` ways to continue. The first way costs nothing; the others may be deviations.
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

static void take_plain_writes(void);

static struct strand *self(void) { return &all->strands[all->current]; }

static void join(struct view *view, const struct view *other) {
    for (unsigned thread = 0; thread < all->threads; thread++)
        if (view->clock[thread] < other->clock[thread]) view->clock[thread] = other->clock[thread];
    for (int place = 0; place < all->place_count; place++) {
        if (view->seen[place] < other->seen[place]) view->seen[place] = other->seen[place];
        if (view->sequential[place] < other->sequential[place]) view->sequential[place] = other->sequential[place];
        if (view->observed[place] < other->observed[place]) view->observed[place] = other->observed[place];
    }
}

// Whether a waiting thread may read another value than at its last look.
static int may_change(const struct strand *strand) {
    for (unsigned at = 0; at < VISITS && at < strand->visited; at++) {
        const struct visit *const visit = &strand->visits[at];
        if (visit->progress != strand->progress) continue;
        const struct place *const place = &all->places[visit->place];
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

// What the program reads instead of the thread pointer: with it, each thread has variables of its own (_Thread_local).
extern uintptr_t syncscope_model_thread_pointer;
uintptr_t syncscope_model_thread_pointer;

static void take_variables_of(int thread) { syncscope_model_thread_pointer = all->strands[thread].thread_pointer; }

static void move_to(int thread) {
    const int from = all->current;
    if (thread == from) return;
    struct strand *const strand = &all->strands[thread];
    take_variables_of(thread);
    all->current = thread, all->streak = 0;
    if (from >= 0 && _setjmp(all->strands[from].here)) return;
    if (strand->has_begun) _longjmp(strand->here, 1);
    strand->has_begun = 1;
    _longjmp(strand->base, 1);
}

// Continues with another thread: the current one, if there is one, cannot continue.
static void leave(void) {
    take_plain_writes();
    int able[MOST], count = 0, unfinished = 0;
    for (int thread = 0; thread < (int)all->threads; thread++) {
        if (is_able(&all->strands[thread])) able[count++] = thread;
        unfinished += all->strands[thread].state != DONE;
    }
    if (unfinished == 0) end(ENDS);
    for (int thread = 0; count == 0 && thread < (int)all->threads; thread++) {
        // A loop with a limited number of looks continues in the end.
        struct strand *const strand = &all->strands[thread];
        if (strand->state == WAITS && !strand->was_tried) {
            strand->was_tried = 1, strand->patience = PATIENCE;
            able[count++] = thread;
        }
    }
    if (count == 0) {
        // The other threads may wait for a thread that does not come to the meeting.
        int stuck = all->current >= 0 ? all->current : 0;
        for (int thread = 0; thread < (int)all->threads && all->strands[stuck].state != WAITS; thread++)
            if (all->strands[thread].state == WAITS || all->strands[thread].state == SLEEPS) stuck = thread;
        const struct strand *const strand = &all->strands[stuck];
        const int is_known = strand->state != MEETS && strand->visited > 0;
        broken("stuck", NOBODY, 0, stuck, is_known ? strand->visits[(strand->visited - 1) % VISITS].site : 0);
    }
    move_to(able[choose((unsigned)count, 0)]);
}

// All executions so far misjudged a loop: exploration begins again.
static void learn(struct strand *strand, int kind) {
    strand->patience = 0;
    if (strand->tried == NULL) return;
    strand->tried->kind = kind;
    all->has_learned = 1;
    end(IS_CUT);
}

static void block(enum state state) {
    if (state != WAITS) learn(self(), GIVES_UP);
    self()->state = state;
    leave();
    self()->state = READY;
}

// Before each step another thread may run. A thread that tries again and again, and writes each time, must let others run in
// the end.
static void turn(void) {
    take_plain_writes();
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

// Atomic accesses conflict where the scope of one of them does not include the other's thread: PTX calls them not morally strong.
static int conflicts(int kind, int old, int other) {
    if (kind % 2 == 0 && old % 2 == 0) return 0;
    if (kind < ATOMIC_READ || old < ATOMIC_READ) return 1;
    return (kind >= NARROW_READ && !(self()->neighbours >> other & 1)) ||
           (old >= NARROW_READ && !(all->strands[other].neighbours >> all->current & 1));
}

// Whether an atomic write is ordered before a plain access because its value, or a later one, was read before.
static int is_observed(uintptr_t address, int kind, int old, int writer) {
    if (!syncscope_orders_observed || kind >= ATOMIC_READ || old != ATOMIC_WRITE) return 0;
    for (int place = 0; place < all->place_count; place++) {
        if (address - all->places[place].address >= all->places[place].size) continue;
        const uint32_t observed = self()->now.observed[place];
        for (int number = all->places[place].newest; number >= 0 && all->messages[number].at > observed; number = all->messages[number].before)
            if (all->messages[number].by == writer) return 0;
        return 1;
    }
    return 0;
}

// Records a plain or atomic access, which must not race with an access that is not ordered before it.
static void access_bytes(uintptr_t address, unsigned size, int kind, uintptr_t site) {
    struct strand *const strand = self();
    if (strand->is_narrow && kind >= ATOMIC_READ) kind += NARROW_READ - ATOMIC_READ;
    strand->is_narrow = 0;
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
                if (conflicts(kind, old, other) && shadow->last[old][other].clock > strand->now.clock[other] &&
                    !is_observed(byte, kind, old, other))
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

static uint32_t position_behind(int behind) {
    const int next = behind < 0 ? NOBODY : all->messages[behind].behind;
    const uint32_t before = behind < 0 ? 0 : all->messages[behind].at;
    return next < 0 ? before + GAP : before + (all->messages[next].at - before) / 2;
}

static int new_message(int place, int behind, uint64_t value) {
    if (all->message_count >= MESSAGES) {
        all->was_cut = 1;
        end(IS_CUT);
    }
    struct message *const messages = all->messages, *const message = &messages[all->message_count];
    const int next = behind < 0 ? NOBODY : messages[behind].behind;
    *message = (struct message){.value = value, .before = behind, .behind = next, .by = all->current, .is_own = 1};
    message->at = position_behind(behind);
    if (behind >= 0) messages[behind].behind = all->message_count;
    if (next >= 0) messages[next].before = all->message_count;
    else all->places[place].newest = all->message_count;
    return all->message_count++;
}

// The place of an atomic variable, including the values that plain writes left there.
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

// Plain writes to atomic variables become values before another thread runs: what their thread does next may publish them.
static void take_plain_writes(void) {
    for (int number = 0; all->is_dirty && number < all->place_count; number++) {
        struct place *const place = &all->places[number];
        if (!place->is_dirty) continue;
        place->is_dirty = 0;
        const int message = new_message(number, place->newest, memory_value(place->address, place->size));
        self()->now.seen[number] = all->messages[message].at;
    }
    all->is_dirty = 0;
}

static struct visit *visit_of(struct strand *strand, uintptr_t site, int place) {
    for (unsigned at = 0; at < VISITS && at < strand->visited; at++)
        if (strand->visits[at].site == site && strand->visits[at].place == place) return &strand->visits[at];
    return NULL;
}

static struct loop *loop_of(uintptr_t site) {
    struct loop *loop = all->loops;
    while (loop->site != 0 && loop->site != site)
        if (++loop == &all->loops[LOOPS]) cannot("it waits in too many places");
    loop->site = site;
    return loop;
}

// Waits if the thread has seen all of these values already and would only look again. At first it finds out whether the loop
// gives up.
static void wait_for_change(uintptr_t site, int place) {
    struct strand *const strand = self();
    const struct visit *const visit = visit_of(strand, site, place);
    while (visit != NULL && visit->progress == strand->progress && !visit->was_vain && !may_change(strand)) {
        if (strand->patience > 0) {
            if (--strand->patience == 0) learn(strand, ENDLESS);
            return;
        }
        struct loop *const loop = loop_of(site);
        if (loop->kind == UNKNOWN) strand->tried = loop, strand->patience = PATIENCE;
        else if (loop->kind == GIVES_UP && choose(2, 1)) strand->patience = PATIENCE;
        else block(WAITS);
    }
}

// A thread that repeats a look need not be interrupted.
static void turn_at(uintptr_t site, int place) {
    take_plain_writes();
    struct strand *const strand = self();
    const struct visit *const visit = visit_of(strand, site, place);
    if (strand->patience > 0 && visit != NULL && visit->progress == strand->progress && !may_change(strand)) return;
    learn(strand, GIVES_UP);
    turn();
}

static void remember(uintptr_t site, int place, uint64_t value, int changes) {
    struct strand *const strand = self();
    struct visit *visit = visit_of(strand, site, place);
    const int is_new = visit == NULL || visit->value != value;
    if (is_new || changes) {
        learn(strand, GIVES_UP);
        strand->progress++;
        for (unsigned thread = 0; thread < all->threads; thread++) all->strands[thread].was_tried = 0;
    }
    if (visit == NULL) visit = &strand->visits[strand->visited++ % VISITS];
    *visit = (struct visit){site, value, strand->progress, place, 0};
}

// What an access wants of a place; `expected` and `in_vain` are for a compare-and-swap.
struct wanted {
    int reads, writes, order, is_swap, in_vain;
    uint64_t expected;
};

static int acquires(int order) { return order != RELAXED && order != RELEASE; }
static int releases(int order) { return order >= RELEASE; }

// Whether another message may come directly behind this one.
static int takes_another(int message) {
    const int behind = all->messages[message].behind;
    return behind < 0 || (!all->messages[behind].is_update && all->messages[behind].at - all->messages[message].at > 1);
}

// The event, with what happens in its thread before it.
static struct event with_view(int number, struct event event) {
    const struct strand *const strand = &all->strands[number];
    event.thread = number, event.is_behind_plain = strand->was_plain;
    event.clock = strand->now.clock[number];
    memcpy(event.happened, strand->now.clock, sizeof event.happened);
    return event;
}

// The event if the access takes this message.
static struct event event_of(int place, int number, const struct wanted *wanted) {
    const struct message *const message = &all->messages[number];
    const int is_vain = wanted->is_swap && message->value != wanted->expected, order = is_vain ? wanted->in_vain : wanted->order;
    struct event event = {.place = place, .reads = wanted->reads, .writes = wanted->writes && !is_vain, .is_sequential = order == SEQ_CST};
    event = with_view(all->current, event);
    event.from = message->at, event.to = event.writes ? position_behind(number) : 0;
    for (unsigned thread = 0; wanted->reads && acquires(order) && thread < all->threads; thread++)
        if (event.happened[thread] < message->view.clock[thread]) event.happened[thread] = message->view.clock[thread];
    return event;
}

// Records an access, a fence, or a meeting, for the order of sequentially consistent events.
static void happen(struct event event) {
    if (self()->patience == 0) add_event(event), self()->was_plain = 0;
}

// The oldest position that agrees with sequential consistency in the order of execution.
static uint32_t floor_of(int place, int is_sequential) {
    const uint32_t floor = self()->now.sequential[place], newest = all->sequential.seen[place];
    return is_sequential && floor < newest ? newest : floor;
}

static int is_allowed(int place, int number, const struct wanted *wanted) {
    const struct event event = event_of(place, number, wanted);
    const uint32_t floor = floor_of(place, event.is_sequential);
    // Once an access has gone back, every later one that does not take the newest value may close a cycle.
    if (number == all->places[place].newest || (all->messages[number].at >= floor && !all->goes_back)) return 1;
    const enum answer answer = may_happen(event);
    if (answer == IS_UNKNOWN) all->was_cut = 1;
    return answer == IS_ALLOWED;
}

// Picks one of the messages that the access may take, from the newest one back.
static int pick(int place, const struct wanted *wanted) {
    int found[MESSAGES], count = 0;
    const uint32_t floor = self()->now.seen[place];
    for (int number = all->places[place].newest; number >= 0 && all->messages[number].at >= floor; number = all->messages[number].before) {
        const int is_vain = wanted->is_swap && all->messages[number].value != wanted->expected;
        if (wanted->writes && !is_vain && !takes_another(number)) continue;
        // Messages that will not be chosen need not be checked.
        if (count > 0 && (self()->patience > 0 || (all->left == 0 && all->was_cut))) break;
        if (is_allowed(place, number, wanted)) found[count++] = number;
    }
    const int message = found[choose((unsigned)count, 1)];
    const struct event event = event_of(place, message, wanted);
    all->goes_back |= all->messages[message].at < floor_of(place, event.is_sequential);
    happen(event);
    return message;
}

static void see(int place, int message, int order) {
    struct strand *const strand = self();
    strand->now.seen[place] = all->messages[message].at;
    if (strand->now.observed[place] < strand->now.seen[place]) strand->now.observed[place] = strand->now.seen[place];
    join(&strand->acquired, &all->messages[message].view);
    if (acquires(order)) join(&strand->now, &all->messages[message].view);
}

// C11 5.1.2.4: later values of the same thread, and values of threads that update them, continue a release sequence, unless
// another thread's value comes between. C++20 has dropped the first part.
static void carry_on(struct message *message) {
    int earlier = message->before;
    while (earlier >= 0 && all->messages[earlier].is_update && all->messages[earlier].by != all->current) earlier = all->messages[earlier].before;
    if (earlier < 0 || all->messages[earlier].by != all->current || !all->messages[earlier].is_own) return;
    join(&message->view, &all->messages[earlier].view);
}

static void write_behind(int place, int behind, uint64_t value, int order, int is_update) {
    struct strand *const strand = self();
    const int number = new_message(place, behind, value);
    struct message *const message = &all->messages[number];
    strand->now.seen[place] = message->at;
    message->is_update = is_update;
    message->view = releases(order) ? strand->now : strand->released;
    if (syncscope_has_c_sequences) carry_on(message);
    // An update passes on the view with which the previous value was released.
    if (is_update) join(&message->view, &all->messages[behind].view);
    message->is_own = !is_update || (all->messages[behind].is_own && all->messages[behind].by == all->current);
    if (order == SEQ_CST && all->sequential.seen[place] < message->at) all->sequential.seen[place] = message->at;
    if (all->places[place].newest == number) memcpy((void *)all->places[place].address, &value, all->places[place].size);
    strand->now.clock[all->current]++;
}

static uint64_t load(uintptr_t address, unsigned size, int order, uintptr_t site) {
    const int place = place_of(address, size);
    turn_at(site, place);
    wait_for_change(site, place);
    access_bytes(address, size, ATOMIC_READ, site);
    const int message = pick(place, &(struct wanted){.reads = 1, .order = order});
    const uint64_t value = all->messages[message].value;
    see(place, message, order);
    remember(site, place, value, 0);
    note(site, "reads", value, message != all->places[place].newest);
    return value;
}

static void store(uintptr_t address, unsigned size, uint64_t value, int order, uintptr_t site) {
    const int place = place_of(address, size);
    learn(self(), GIVES_UP);
    turn();
    access_bytes(address, size, ATOMIC_WRITE, site);
    const int behind = pick(place, &(struct wanted){.writes = 1, .order = order}), is_old = behind != all->places[place].newest;
    write_behind(place, behind, value, order, 0);
    remember(site, place, value, 1);
    note(site, "writes", value, is_old);
}

static uint64_t sum_of_floats(uint64_t one, uint64_t other, unsigned size) {
    union { uint64_t bits; float single; double twice; } sum = {one}, more = {other};
    if (size == 4) sum.single += more.single;
    else sum.twice += more.twice;
    return sum.bits;
}

static uint64_t changed(uint64_t value, char operation, uint64_t operand, unsigned size) {
    const unsigned unused = 64 - 8 * size;
    const int is_less = (int64_t)(value << unused) < (int64_t)(operand << unused);
    switch (operation) {
    case 'i': return value >= operand ? 0 : value + 1;
    case 'd': return value == 0 || value > operand ? operand : value - 1;
    case 'm': return value < operand ? value : operand;
    case 'M': return value > operand ? value : operand;
    case 's': return is_less ? value : operand;
    case 'S': return is_less ? operand : value;
    case 'f': return sum_of_floats(value, operand, size);
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

static int only_looks_again(uint64_t value, uint64_t to) { return self()->patience > 0 && value == to; }

static uint64_t update(uintptr_t address, unsigned size, char operation, uint64_t operand, int order, uintptr_t site) {
    const int place = place_of(address, size);
    turn_at(site, place);
    wait_for_change(site, place);
    access_bytes(address, size, ATOMIC_WRITE, site);
    const int message = pick(place, &(struct wanted){.reads = 1, .writes = 1, .order = order}), is_old = message != all->places[place].newest;
    const uint64_t value = all->messages[message].value, to = of_size(changed(value, operation, operand, size), size);
    see(place, message, order);
    if (!only_looks_again(value, to)) write_behind(place, message, to, order, 1);
    remember(site, place, value, value != to);
    note(site, "reads", value, is_old);
    note(site, "writes", to, 0);
    return value;
}

// A weak compare-and-swap may fail although it finds the expected value: then it counts as a load, and looks once more.
static int fails_for_nothing(uintptr_t site, int place) {
    const struct visit *const visit = visit_of(self(), site, place);
    if (self()->patience > 0 || (visit != NULL && visit->was_vain && visit->progress == self()->progress)) return 0;
    return (int)choose(2, 1);
}

static int swap(uintptr_t address, unsigned size, void *expected, uint64_t to, int is_weak, int order, int in_vain, uintptr_t site) {
    const int place = place_of(address, size);
    turn_at(site, place);
    wait_for_change(site, place);
    access_bytes(address, size, ATOMIC_WRITE, site);
    const uint64_t wanted = memory_value((uintptr_t)expected, size);
    const int is_vain = is_weak && fails_for_nothing(site, place);
    struct wanted want = {.reads = 1, .writes = 1, .order = order, .is_swap = 1, .in_vain = in_vain, .expected = wanted};
    if (is_vain) want = (struct wanted){.reads = 1, .order = in_vain};
    const int message = pick(place, &want), is_old = message != all->places[place].newest;
    const uint64_t value = all->messages[message].value;
    const int succeeds = value == wanted && !is_vain;
    see(place, message, succeeds ? order : in_vain);
    if (succeeds && !only_looks_again(value, to)) write_behind(place, message, to, order, 1);
    remember(site, place, value, succeeds && value != to);
    visit_of(self(), site, place)->was_vain = is_vain;
    note(site, "reads", value, is_old);
    if (succeeds) note(site, "writes", to, 0);
    memcpy(expected, &value, size);
    return succeeds;
}
