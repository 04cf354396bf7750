// A compiler that fails as FAKE_NVRTC says (CALL:BEHAVIOUR, see behaviour.h) on programs with an option that contains
// FAKE_NVRTC_ON. For all other programs it returns an invalid CUBIN.

#include "behaviour.h"

static int behaviour(const char *call) { return asked_for("FAKE_NVRTC", call); }

EXPORT int nvrtcVersion(int *major, int *minor) {
    const char *asked = getenv("FAKE_NVRTC_VERSION");
    *major = asked ? atoi(asked) : 13;
    *minor = 0;
    return behaviour("nvrtcVersion");
}

EXPORT int nvrtcGetNumSupportedArchs(int *count) {
    *count = 1;
    return behaviour("nvrtcGetNumSupportedArchs");
}

EXPORT int nvrtcGetSupportedArchs(int *archs) {
    const char *asked = getenv("FAKE_NVRTC_ARCH");
    archs[0] = asked ? atoi(asked) : 90;
    return behaviour("nvrtcGetSupportedArchs");
}

EXPORT int nvrtcCreateProgram(void **program) {
    *program = malloc(1);
    return behaviour("nvrtcCreateProgram");
}

EXPORT int nvrtcDestroyProgram(void **program) {
    free(*program);
    return 0;
}

EXPORT int nvrtcCompileProgram(void *program, int count, const char *const *options) {
    (void)program;
    const char *on = getenv("FAKE_NVRTC_ON");
    for (int i = 0; i < count; i++)
        if (!on || strstr(options[i], on)) return behaviour("nvrtcCompileProgram");
    return 0;
}

EXPORT int nvrtcGetCUBINSize(void *program, size_t *size) {
    (void)program;
    *size = 8;
    return behaviour("nvrtcGetCUBINSize");
}

EXPORT int nvrtcGetCUBIN(void *program, char *cubin) {
    (void)program;
    memset(cubin, 'x', 8);
    return behaviour("nvrtcGetCUBIN");
}

EXPORT int nvrtcGetPTXSize(void *program, size_t *size) {
    (void)program;
    *size = 8;
    return behaviour("nvrtcGetPTXSize");
}

EXPORT int nvrtcGetPTX(void *program, char *ptx) {
    (void)program;
    memset(ptx, 0, 8);
    return behaviour("nvrtcGetPTX");
}

EXPORT int nvrtcGetProgramLogSize(void *program, size_t *size) {
    (void)program;
    *size = 1;
    return 0;
}

EXPORT int nvrtcGetProgramLog(void *program, char *log) {
    (void)program;
    log[0] = 0;
    return 0;
}

EXPORT const char *nvrtcGetErrorString(int error) {
    (void)error;
    return NULL;
}
