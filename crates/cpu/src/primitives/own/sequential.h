// Which sequentially consistent accesses and fences may come in which order: the relation psc of RC11 (Lahav et al., "Repairing
// Sequential Consistency in C/C++11", PLDI 2017, section 3) must have no cycle. The model executes accesses in an order that
// agrees with happens-before and reads-from. psc may contradict that order only where an access goes back: reads a value that
// is older than a sequentially consistent one, or comes before it. Until then psc need not be checked.
#define _GNU_SOURCE
#include <stddef.h>
#include <stdint.h>

enum { MOST = 4, EVENTS = 1 << 12, NODES = 128, NOBODY = -1 };
typedef unsigned __int128 nodes;  // a set of sequentially consistent accesses and fences

// An access to a place; or a fence or a meeting, which have no place.
struct event {
    int thread, place, reads, writes, is_sequential;
    int is_behind_plain;            // a plain access is between it and the one before it in its thread
    uint32_t from, to;              // positions of what it reads and writes
    uint32_t clock, happened[MOST]; // of its thread; of all threads, for what follows it
    int before;                     // in its thread
    int node;
    nodes fences, sources;  // sequential fences that happen before it (or are it); with itself where it is sequential
    nodes into, eco;        // `sources` of what scb leads from to here, `fences` of what eco leads from to here
    nodes onwards;          // sequential fences that it happens before
};

static struct graph {
    struct event events[EVENTS + 1];
    nodes edges[NODES + 1];  // from where an edge leads to this node
    int fences[NODES + 1], fence_count;
    int count, settled, node_count, sequential_count, is_full, last[MOST];
} *graph;

static void forget_events(void) {
    graph->count = graph->settled = graph->node_count = graph->fence_count = graph->sequential_count = graph->is_full = 0;
    for (int thread = 0; thread < MOST; thread++) graph->last[thread] = NOBODY;
}

static nodes only(int node) { return (nodes)1 << node; }

static int happens_before(const struct event *one, const struct event *other) {
    return one->thread == other->thread ? one < other : other->happened[one->thread] >= one->clock;
}

static int is_same_place(const struct event *one, const struct event *other) {
    return one->place != NOBODY && one->place == other->place;
}

// By the order of the values: mo or rb.
static int precedes(const struct event *one, const struct event *other) {
    if (!is_same_place(one, other) || !other->writes) return 0;
    return (one->writes && one->to < other->to) || (one->reads && one->from < other->to);
}

static int is_eco(const struct event *one, const struct event *other) {
    if (!is_same_place(one, other)) return 0;
    if (other->writes) return (one->writes ? one->to : one->from) < other->to;
    return one->writes ? one->to <= other->from : one->from < other->from;
}

// What happened before the last event at another place in front of this one.
static const uint32_t *before_elsewhere(const struct event *event) {
    for (int number = event->before, is_behind_plain = event->is_behind_plain; number != NOBODY; number = graph->events[number].before) {
        const struct event *const earlier = &graph->events[number];
        if (is_behind_plain || !is_same_place(earlier, event)) return earlier->happened;
        is_behind_plain = earlier->is_behind_plain;
    }
    return NULL;
}

// The clock of the first event at another place behind this one in its thread.
static uint32_t clock_elsewhere(int number) {
    const struct event *const event = &graph->events[number];
    for (int later = number + 1; later < graph->count; later++) {
        const struct event *const other = &graph->events[later];
        if (other->thread != event->thread) continue;
        if (other->is_behind_plain || !is_same_place(event, other)) return other->clock;
    }
    return UINT32_MAX;
}

// scb from an earlier event.
static int is_scb(int number, const struct event *event, const uint32_t *elsewhere) {
    const struct event *const earlier = &graph->events[number];
    if (earlier->thread == event->thread) return 1;
    if (is_same_place(earlier, event) && happens_before(earlier, event)) return 1;
    if (precedes(earlier, event)) return 1;
    return elsewhere != NULL && elsewhere[earlier->thread] >= earlier->clock &&
           elsewhere[earlier->thread] >= clock_elsewhere(number);
}

// The edges from the events so far to a new one.
static nodes find_edges(struct event *event) {
    const int is_fence = event->is_sequential && event->place == NOBODY;
    const uint32_t *const elsewhere = before_elsewhere(event);
    event->fences = event->into = event->eco = event->onwards = 0;
    for (int at = 0; at < graph->fence_count; at++) {
        const struct event *const fence = &graph->events[graph->fences[at]];
        if (happens_before(fence, event)) event->fences |= only(fence->node);
    }
    nodes edges = is_fence ? event->fences : 0;
    for (int number = 0; number < graph->settled; number++) {
        const struct event *const earlier = &graph->events[number];
        if (earlier->sources == 0 && !is_fence) continue;
        if (is_scb(number, event, elsewhere)) event->into |= earlier->sources;
        if (is_eco(earlier, event)) event->eco |= earlier->fences;
        if (is_fence && happens_before(earlier, event)) edges |= earlier->into | earlier->eco;
    }
    event->node = event->is_sequential ? graph->node_count : NOBODY;
    event->sources = event->fences | (event->is_sequential ? only(event->node) : 0);
    if (is_fence) event->fences |= only(event->node);
    return edges | (event->is_sequential ? event->into : 0);
}

static nodes targets(const struct event *event) {
    return event->onwards | (event->is_sequential ? only(event->node) : 0);
}

static void add_edges(nodes to, nodes from) {
    for (int node = 0; to != 0; node++, to >>= 1)
        if (to & 1) graph->edges[node] |= from;
}

// Adds the edges of all events that have none yet.
static void settle(void) {
    for (; graph->settled < graph->count; graph->settled++) {
        struct event *const event = &graph->events[graph->settled];
        const nodes edges = find_edges(event);
        const int is_fence = event->is_sequential && event->place == NOBODY;
        for (int number = 0; number < graph->settled; number++) {
            struct event *const earlier = &graph->events[number];
            if (is_fence && happens_before(earlier, event)) earlier->onwards |= only(event->node);
            if (event->sources == 0) continue;
            if (precedes(event, earlier)) earlier->into |= event->sources, add_edges(targets(earlier), event->sources);
            if (is_eco(event, earlier)) earlier->eco |= event->fences, add_edges(earlier->onwards, event->fences);
        }
        if (!event->is_sequential) continue;
        if (is_fence) graph->fences[graph->fence_count++] = graph->settled;
        graph->edges[graph->node_count++] = edges;
    }
}

// The nodes from which `reached` can be reached; `newest` are the edges to the newest node.
static nodes ancestors(nodes reached, nodes newest) {
    nodes done = 0;
    while (reached != done) {
        nodes left = reached & ~done;
        done = reached;
        for (int node = 0; left != 0; node++, left >>= 1)
            if (left & 1) reached |= node == graph->node_count ? newest : graph->edges[node];
    }
    return reached;
}

enum answer { IS_ALLOWED, IS_FORBIDDEN, IS_UNKNOWN };

// Whether an event that goes back is allowed.
static enum answer may_happen(struct event event) {
    settle();
    if (graph->is_full) return IS_UNKNOWN;
    struct event *const one = &graph->events[graph->count];
    *one = event;
    one->before = graph->last[event.thread];
    const nodes edges = find_edges(one), above = ancestors(one->sources, edges), above_fences = ancestors(one->fences, edges);
    for (int number = 0; number < graph->count; number++) {
        const struct event *const earlier = &graph->events[number];
        if (precedes(one, earlier) && (above & targets(earlier))) return IS_FORBIDDEN;
        if (is_eco(one, earlier) && (above_fences & earlier->onwards)) return IS_FORBIDDEN;
    }
    return IS_ALLOWED;
}

// Records an event that has happened.
static void add_event(struct event event) {
    graph->is_full |= graph->count == EVENTS || graph->sequential_count + event.is_sequential == NODES;
    if (graph->is_full) return;
    event.before = graph->last[event.thread];
    graph->last[event.thread] = graph->count;
    graph->sequential_count += event.is_sequential;
    graph->events[graph->count++] = event;
}
