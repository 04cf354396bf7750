// Shared by the fake libraries: a call behaves as an environment variable says (CALL:BEHAVIOUR, such as cuInit:hangs).
// Behaviours: hangs, crashes, exits, talks (and hangs), or the number of an error.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static int asked_for(const char *variable, const char *call) {
    const char *asked = getenv(variable);
    size_t length = strlen(call);
    if (!asked || strncmp(asked, call, length) || asked[length] != ':') return 0;
    const char *what = asked + length + 1;
    if (!strcmp(what, "talks")) {
        puts("a library says hello");
        fflush(stdout);
    }
    if (!strcmp(what, "hangs") || !strcmp(what, "talks"))
        for (;;) pause();
    if (!strcmp(what, "crashes")) *(volatile int *)0 = 0;
    if (!strcmp(what, "exits")) exit(0);
    return atoi(what);
}
