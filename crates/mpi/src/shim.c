// The timed calls, and what the processes need around them. The command compiles this file with the MPI compiler wrapper
// of the machine, because handles and constants differ between MPI libraries. `library.rs` declares the same functions.
//
// Every function but the first two returns MPI_SUCCESS (0) or the code of the call that failed.

#include <mpi.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#if defined(SYNCSCOPE_OPEN_MPI) && !defined(OPEN_MPI)
#error "this compiler wrapper is not that of Open MPI, whose launcher started the processes"
#endif
#if defined(SYNCSCOPE_MPICH) && defined(OPEN_MPI)
#error "this compiler wrapper is that of Open MPI; the launcher of MPICH started the processes"
#endif

enum { SLOTS = 64, NOT_A_MEMBER = -1 };

// A communicator of the first processes of a case, and a counter in the memory of its process 0.
struct slot {
    MPI_Comm comm;
    MPI_Win window;
    int rank;
    int size;
};

static struct slot slots[SLOTS];

// Of all processes, for the messages of rank 0.
static MPI_Comm messages;
static MPI_Request message = MPI_REQUEST_NULL;

// Name and version of the library; may be called before the start (MPI 4.1, 9.1.1).
int syncscope_version(char *text, int length) {
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int characters = 0;
    if (MPI_Get_library_version(version, &characters) != MPI_SUCCESS) return 0;
    strncpy(text, version, (size_t)length - 1);
    text[length - 1] = 0;
    return 1;
}

void syncscope_error(int code, char *text, int length) {
    char error[MPI_MAX_ERROR_STRING] = "unknown error";
    int characters = 0;
    MPI_Error_string(code, error, &characters);
    strncpy(text, error, (size_t)length - 1);
    text[length - 1] = 0;
}

// Joins the other processes. `node` is the lowest rank on the node of the caller.
//
// MPI_Init asks for MPI_THREAD_SINGLE, as most programs do: with MPI_THREAD_FUNNELED a barrier of Open MPI 4.1 takes 60 %
// longer (208 instead of 127 ns). The other threads of this process call nothing of MPI.
int syncscope_start(int *rank, int *size, int *node) {
    int code = MPI_Init(NULL, NULL);
    if (code) return code;
    if ((code = MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN))) return code;
    if ((code = MPI_Comm_rank(MPI_COMM_WORLD, rank))) return code;
    if ((code = MPI_Comm_size(MPI_COMM_WORLD, size))) return code;
    if ((code = MPI_Comm_dup(MPI_COMM_WORLD, &messages))) return code;
    MPI_Comm shared;
    code = MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, *rank, MPI_INFO_NULL, &shared);
    if (code) return code;
    *node = *rank;
    if ((code = MPI_Bcast(node, 1, MPI_INT, 0, shared))) return code;
    return MPI_Comm_free(&shared);
}

// The words of every process, in the order of the ranks.
int syncscope_collect(const int64_t *own, int count, int64_t *all) {
    return MPI_Allgather(own, count, MPI_INT64_T, all, count, MPI_INT64_T, MPI_COMM_WORLD);
}

// Messages of rank 0 go down a binary tree: rank r passes them on to 2 r + 1 and 2 r + 2. (A non-blocking collective would
// do the same. But since the first of them, Open MPI 4 looks for others in every call, and a barrier takes 10 to 20 %
// longer.)
int syncscope_send(const int64_t *words, int count) {
    int rank, size, code = MPI_Comm_rank(messages, &rank) | MPI_Comm_size(messages, &size);
    for (int child = 2 * rank + 1; child <= 2 * rank + 2 && child < size && !code; child++) {
        code = MPI_Send(words, count, MPI_INT64_T, child, 0, messages);
    }
    return code;
}

// The buffer stays until `syncscope_received` says so.
int syncscope_begin_receive(int64_t *words, int count) {
    int rank, code = MPI_Comm_rank(messages, &rank);
    return code | MPI_Irecv(words, count, MPI_INT64_T, (rank - 1) / 2, 0, messages, &message);
}

int syncscope_received(int *done) { return MPI_Test(&message, done, MPI_STATUS_IGNORE); }

// All processes prepare a slot; the members, in the order of `place`, take part in its case.
int syncscope_prepare(int number, int place) {
    struct slot *slot = &slots[number];
    int color = place == NOT_A_MEMBER ? MPI_UNDEFINED : 0;
    int code = MPI_Comm_split(MPI_COMM_WORLD, color, place, &slot->comm);
    if (code || place == NOT_A_MEMBER) return code;
    if ((code = MPI_Comm_set_errhandler(slot->comm, MPI_ERRORS_RETURN))) return code;
    if ((code = MPI_Comm_rank(slot->comm, &slot->rank))) return code;
    if ((code = MPI_Comm_size(slot->comm, &slot->size))) return code;
    int64_t *counter = NULL;
    MPI_Aint bytes = slot->rank == 0 ? sizeof *counter : 0;
    code = MPI_Win_allocate(bytes, sizeof *counter, MPI_INFO_NULL, slot->comm, &counter, &slot->window);
    if (code) return code;
    if ((code = MPI_Win_set_errhandler(slot->window, MPI_ERRORS_RETURN))) return code;
    if ((code = MPI_Win_lock_all(0, slot->window))) return code;
    if (slot->rank == 0) {
        *counter = 0;
        if ((code = MPI_Win_sync(slot->window))) return code;
    }
    return MPI_Barrier(slot->comm);
}

// What the loops count. Each process checks it after a sample.
struct counts {
    int64_t value;  // what is sent, added or passed on
    int64_t sum;    // of what came back
    int64_t disorder;
};

static inline int fetch(struct slot *slot, int64_t add, int64_t *before) {
    int code = MPI_Fetch_and_op(&add, before, MPI_INT64_T, 0, 0, add ? MPI_SUM : MPI_NO_OP, slot->window);
    return code | MPI_Win_flush(0, slot->window);
}

// The primitives: each written once, as people write it.

static inline int barrier(struct slot *slot, struct counts *counts) {
    counts->value += 1;
    return MPI_Barrier(slot->comm);
}

static inline int allreduce(struct slot *slot, struct counts *counts) {
    int64_t result;
    counts->value += 1;
    int code = MPI_Allreduce(&counts->value, &result, 1, MPI_INT64_T, MPI_SUM, slot->comm);
    counts->sum += result;
    return code;
}

// A round trip: two hand-offs. Each process adds 1 before it passes the value on.
static inline int pingpong(struct slot *slot, struct counts *counts) {
    int code = 0;
    if (slot->rank == 0) {
        counts->value += 1;
        code |= MPI_Send(&counts->value, 1, MPI_INT64_T, 1, 0, slot->comm);
        code |= MPI_Recv(&counts->value, 1, MPI_INT64_T, 1, 0, slot->comm, MPI_STATUS_IGNORE);
    } else {
        code |= MPI_Recv(&counts->value, 1, MPI_INT64_T, 0, 0, slot->comm, MPI_STATUS_IGNORE);
        counts->value += 1;
        code |= MPI_Send(&counts->value, 1, MPI_INT64_T, 0, 0, slot->comm);
    }
    return code;
}

static inline int fetch_op(struct slot *slot, struct counts *counts) {
    int64_t before, one = 1;
    int code = MPI_Fetch_and_op(&one, &before, MPI_INT64_T, 0, 0, MPI_SUM, slot->window);
    code |= MPI_Win_flush(0, slot->window);
    // The counter only grows.
    counts->disorder += before < counts->value;
    counts->value = before + 1;
    counts->sum += 1;
    return code;
}

// The loops of baseline (one copy), test (two) and third loop (three), around the same operation.
#define LOOPS(operation)                                      \
    switch (copies) {                                         \
        case 1:                                               \
            for (int64_t i = 0; i < iterations && !code; i++) \
                code = operation(slot, counts);               \
            break;                                            \
        case 2:                                               \
            for (int64_t i = 0; i < iterations && !code; i++) \
                code = operation(slot, counts) |              \
                       operation(slot, counts);               \
            break;                                            \
        default:                                              \
            for (int64_t i = 0; i < iterations && !code; i++) \
                code = operation(slot, counts) |              \
                       operation(slot, counts) |              \
                       operation(slot, counts);               \
            break;                                            \
    }                                                         \
    break

enum { BARRIER, ALLREDUCE, PINGPONG, FETCH_OP };

int syncscope_loop(int number, int call, int copies, int64_t iterations, struct counts *counts) {
    struct slot *slot = &slots[number];
    int code = 0;
    switch (call) {
        case BARRIER: LOOPS(barrier);
        case ALLREDUCE: LOOPS(allreduce);
        case PINGPONG: LOOPS(pingpong);
        // Process 0 has the counter and waits in the barrier that follows, where the library makes progress.
        case FETCH_OP: if (slot->rank == 0) break; LOOPS(fetch_op);
    }
    return code;
}

// The processes of a case come together, before and after a timed loop.
int syncscope_meet(int number) { return MPI_Barrier(slots[number].comm); }

// The value of the counter at process 0.
int syncscope_counter(int number, int64_t *value) { return fetch(&slots[number], 0, value); }

// The words of the members; `all` is read by their process 0 alone.
int syncscope_gather(int number, const int64_t *own, int count, int64_t *all) {
    return MPI_Gather(own, count, MPI_INT64_T, all, count, MPI_INT64_T, 0, slots[number].comm);
}

// Proves that no process leaves a barrier before all have entered it: each announces its arrival at a counter, waits, and
// looks. A different one is late in each phase. `seen` gets what was counted after each phase, since the first.
int syncscope_phases(int number, int phases, int64_t *seen) {
    struct slot *slot = &slots[number];
    int64_t first, before;
    int code = fetch(slot, 0, &first);
    code |= MPI_Barrier(slot->comm);
    for (int phase = 0; phase < phases && !code; phase++) {
        if (phase % slot->size == slot->rank) usleep(100);
        code |= fetch(slot, 1, &before);
        code |= MPI_Barrier(slot->comm);
        code |= fetch(slot, 0, &seen[phase]);
        seen[phase] -= first;
    }
    return code;
}

int syncscope_finish(void) {
    for (int number = 0; number < SLOTS; number++) {
        struct slot *slot = &slots[number];
        if (!slot->size) continue;
        int code = MPI_Win_unlock_all(slot->window);
        code |= MPI_Win_free(&slot->window);
        code |= MPI_Comm_free(&slot->comm);
        if (code) return code;
    }
    int code = MPI_Comm_free(&messages);
    return code ? code : MPI_Finalize();
}
