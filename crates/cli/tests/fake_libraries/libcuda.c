// A driver that answers as FAKE_CUDA says, for tests without a GPU. It has one device and can run nothing on it.
// FAKE_CUDA=CALL:BEHAVIOUR, such as cuInit:hangs; see behaviour.h.

#include <stdint.h>
#include "behaviour.h"

static int behaviour(const char *call) { return asked_for("FAKE_CUDA", call); }

#define CALL(name) EXPORT int name(void) { return behaviour(#name); }

CALL(cuInit)
CALL(cuCtxSetCurrent)
CALL(cuCtxDestroy_v2)
CALL(cuModuleUnload)
CALL(cuStreamDestroy_v2)
CALL(cuStreamQuery)
CALL(cuMemFree_v2)
CALL(cuMemFreeHost)
CALL(cuMemcpyDtoHAsync_v2)
CALL(cuMemsetD8Async)
CALL(cuLaunchKernel)
CALL(cuLaunchCooperativeKernel)
CALL(cuStreamSynchronize)
CALL(cuStreamBeginCapture_v2)
CALL(cuStreamEndCapture)
CALL(cuGraphInstantiateWithFlags)
CALL(cuGraphUpload)
CALL(cuGraphLaunch)
CALL(cuGraphExecDestroy)
CALL(cuGraphDestroy)
CALL(cuEventRecord)
CALL(cuEventSynchronize)
CALL(cuEventDestroy_v2)
CALL(cuStreamWaitEvent)
CALL(cuStreamWriteValue32_v2)
CALL(cuStreamWaitValue32_v2)
CALL(cuLaunchKernelEx)
CALL(cuFuncSetAttribute)
CALL(cuMemcpyHtoD_v2)
CALL(cuDeviceGetP2PAttribute)
CALL(cuCtxEnablePeerAccess)

// Calls that return something through a pointer, their first argument.
#define RETURNS(name, type, value) \
    EXPORT int name(type *result) { \
        *result = (type)(value); \
        return behaviour(#name); \
    }

RETURNS(cuDriverGetVersion, int, 13000)
RETURNS(cuDeviceGet, int, 0)
RETURNS(cuDeviceTotalMem_v2, size_t, 1 << 30)
RETURNS(cuCtxCreate_v2, void *, 0x1000)
RETURNS(cuCtxGetCurrent, void *, 0x1000)
RETURNS(cuGraphCreate, void *, 0x6000)
RETURNS(cuModuleLoadData, void *, 0x2000)
RETURNS(cuModuleLoadDataEx, void *, 0x2000)
RETURNS(cuModuleGetFunction, void *, 0x3000)
RETURNS(cuStreamCreate, void *, 0x4000)
RETURNS(cuEventCreate, void *, 0x5000)
RETURNS(cuOccupancyMaxActiveBlocksPerMultiprocessor, int, 1)
RETURNS(cuOccupancyMaxActiveClusters, int, 1)
RETURNS(cuDeviceCanAccessPeer, int, 0)

EXPORT int cuDeviceGetCount(int *count) {
    const char *asked = getenv("FAKE_CUDA_DEVICES");
    *count = asked ? atoi(asked) : 1;
    return behaviour("cuDeviceGetCount");
}

EXPORT int cuDeviceGetName(char *name, int length, int device) {
    (void)device;
    strncpy(name, "Fake device", (size_t)length);
    return behaviour("cuDeviceGetName");
}

EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device) {
    (void)device;
    // The numbers of cuda.h: threads of a block, multiprocessors, compute capability 9.0.
    *value = attribute == 1 ? 1024 : attribute == 16 ? 2 : attribute == 75 ? 9 : attribute == 76 ? 0 : 64;
    return behaviour("cuDeviceGetAttribute");
}

static void *memory(void) {
    static char pool[1 << 26];
    return pool;
}

EXPORT int cuMemAlloc_v2(uint64_t *address) {
    *address = (uint64_t)memory();
    return behaviour("cuMemAlloc_v2");
}

EXPORT int cuMemHostAlloc(void **address, size_t size) {
    *address = calloc(1, size);
    return behaviour("cuMemHostAlloc");
}

EXPORT int cuMemHostGetDevicePointer_v2(uint64_t *address, void *host) {
    *address = (uint64_t)host;
    return behaviour("cuMemHostGetDevicePointer_v2");
}

EXPORT int cuModuleGetGlobal_v2(uint64_t *address, size_t *size) {
    *address = (uint64_t)memory();
    *size = 4096;
    return behaviour("cuModuleGetGlobal_v2");
}

// NVRTC 13 asks the driver for this function, and crashes if it is missing.
EXPORT int cuGetExportTable(void) {
    return 801;
}

// A broken driver has no texts for errors.
EXPORT int cuGetErrorName(int error, const char **text) {
    (void)error;
    *text = NULL;
    return 0;
}

EXPORT int cuGetErrorString(int error, const char **text) {
    (void)error;
    *text = NULL;
    return 0;
}
