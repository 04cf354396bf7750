// Replaces the compiled shim of an MPI library (crates/mpi/src/shim.c): the first of two processes of one node,
// without the other. It can join and leave the other process, but measures nothing.

#include <stdint.h>
#include <string.h>

#define NOTHING(name) int name(void) { return 1; }

int syncscope_version(char *text, int length) {
    strncpy(text, "Fake MPI", length);
    return 1;
}

void syncscope_error(int code, char *text, int length) { strncpy(text, "not in the fake", length); }

int syncscope_start(int *rank, int *size, int *node) {
    *rank = 0;
    *size = 2;
    *node = 0;
    return 0;
}

// The other process reports the same as this one.
int syncscope_collect(const int64_t *own, int count, int64_t *all) {
    memcpy(all, own, count * sizeof *own);
    memcpy(all + count, own, count * sizeof *own);
    return 0;
}

int syncscope_send(const int64_t *words, int count) { return 0; }

int syncscope_finish(void) { return 0; }

NOTHING(syncscope_begin_receive)
NOTHING(syncscope_received)
NOTHING(syncscope_prepare)
NOTHING(syncscope_loop)
NOTHING(syncscope_meet)
NOTHING(syncscope_counter)
NOTHING(syncscope_gather)
NOTHING(syncscope_phases)
