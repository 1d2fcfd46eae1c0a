// A CUDA driver and compiler without a device, which fails where the variable FAKE_CUDA_FAULT says: for tests
// of what happens then. Its memory is that of the processor. A launch only says that all tasks are done, so
// without a fault all answers are zeros.
#include <stdlib.h>
#include <string.h>

typedef unsigned long long Address;

static int fault(const char* place, int code) {
    const char* wanted = getenv("FAKE_CUDA_FAULT");
    return wanted && strcmp(wanted, place) == 0 ? code : 0;
}

// The driver.
int cuInit(unsigned flags) { return fault("init", 100); }
int cuDeviceGet(int* device, int number) { return *device = 0; }
int cuDeviceGetName(char* name, int length, int device) { return strncpy(name, "a fake", length), 0; }
int cuDeviceGetAttribute(int* value, int attribute, int device) { return *value = 9, 0; }
int cuDevicePrimaryCtxRetain(void** context, int device) { return *context = malloc(1), 0; }
int cuDevicePrimaryCtxRelease_v2(int device) { return 0; }
int cuCtxGetCurrent(void** context) { return *context = 0, 0; }
int cuCtxSetCurrent(void* context) { return 0; }
int cuMemGetInfo_v2(size_t* free, size_t* all) { return *free = *all = (size_t)1 << 30, fault("memory", 719); }
int cuModuleLoadData(void** module, const void* code) { return *module = malloc(1), fault("load", 218); }
int cuModuleUnload(void* module) { return 0; }
int cuModuleGetFunction(void** function, void* module, const char* name) { return *function = module, 0; }
int cuMemAllocAsync(Address* address, size_t size, void* stream) { return *address = (Address)calloc(1, size), fault("allocate", 2); }
int cuMemFreeAsync(Address address, void* stream) { return free((void*)address), 0; }
int cuMemsetD8Async(Address address, unsigned char value, size_t size, void* stream) { return memset((void*)address, value, size), 0; }
int cuMemcpyHtoDAsync_v2(Address to, const void* from, size_t size, void* stream) { return memcpy((void*)to, from, size), fault("upload", 700); }
int cuMemcpyDtoHAsync_v2(void* to, Address from, size_t size, void* stream) { return memcpy(to, (void*)from, size), fault("download", 700); }
int cuStreamSynchronize(void* stream) { return fault("wait", 719); }
int cuEventCreate(void** event, unsigned flags) { return *event = malloc(1), 0; }
int cuEventRecord(void* event, void* stream) { return 0; }
int cuEventDestroy_v2(void* event) { return free(event), 0; }
int cuEventSynchronize(void* event) { return 0; }
int cuStreamWaitEvent(void* stream, void* event, unsigned flags) { return 0; }
int cuGetErrorName(int code, const char** text) { return *text = "FAKE", 0; }
int cuGetErrorString(int code, const char** text) { return *text = "a fault that was asked for", 0; }
int cuLaunchKernel(void* function, unsigned a, unsigned b, unsigned c, unsigned d, unsigned e, unsigned f, unsigned g, void* stream, void** arguments, void** more) {
    // The sixth argument counts the tasks that are not done.
    *(unsigned*)*(Address*)arguments[5] = 0;
    return fault("launch", 719);
}

// The compiler.
int nvrtcCreateProgram(void** program, const char* source, const char* name, int count, const char** headers, const char** names) { return *program = malloc(1), 0; }
int nvrtcCompileProgram(void* program, int count, const char** options) { return fault("compile", 6); }
int nvrtcDestroyProgram(void** program) { return 0; }
int nvrtcGetPTXSize(void* program, size_t* size) { return *size = 1, 0; }
int nvrtcGetPTX(void* program, char* code) { return *code = 0; }
int nvrtcGetCUBINSize(void* program, size_t* size) { return *size = 1, 0; }
int nvrtcGetCUBIN(void* program, char* code) { return *code = 0; }
int nvrtcGetProgramLogSize(void* program, size_t* size) { return *size = 4, 0; }
int nvrtcGetProgramLog(void* program, char* log) { return memcpy(log, "log", 4), 0; }
const char* nvrtcGetErrorString(int code) { return "a fault that was asked for"; }
