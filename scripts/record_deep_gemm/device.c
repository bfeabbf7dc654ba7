// SPDX-License-Identifier: Apache-2.0
// Stands for the CUDA driver and runtime on a machine without a GPU: one device of 9.0 with 132
// SMs, whose memory is the host's and whose kernels do nothing. record.py compiles this file with
// the list of the other functions that PyTorch and DeepGEMM import; those return success.
#define _GNU_SOURCE
#include <driver_types.h>
#include <string.h>
#include <sys/mman.h>

enum { kSms = 132, kSharedBytes = 232448, kClockKhz = 1980000, kDriverVersion = 13000 };
static const size_t kDeviceBytes = (size_t)1 << 37;

#define SUCCEEDS(name) \
  int name(void) { return 0; }
#include "imported.h"
#undef SUCCEEDS

static int no_operation(void) { return 0; }

int cudaDriverGetVersion(int* version) {
  *version = kDriverVersion;
  return 0;
}

int cudaGetDevice(int* device) {
  *device = 0;
  return 0;
}

int cudaGetDeviceCount(int* count) {
  *count = 1;
  return 0;
}

int cudaGetDeviceProperties(struct cudaDeviceProp* device, int ordinal) {
  (void)ordinal;
  memset(device, 0, sizeof *device);
  strcpy(device->name, "no device");
  device->major = 9;
  device->multiProcessorCount = kSms;
  device->sharedMemPerBlock = 49152;
  device->sharedMemPerBlockOptin = kSharedBytes;
  device->sharedMemPerMultiprocessor = kSharedBytes + 1024;
  device->l2CacheSize = 50 << 20;
  device->warpSize = 32;
  device->maxThreadsPerBlock = 1024;
  device->maxThreadsPerMultiProcessor = 2048;
  device->regsPerBlock = device->regsPerMultiprocessor = 65536;
  device->totalGlobalMem = kDeviceBytes;
  return 0;
}

int cudaDeviceGetAttribute(int* value, enum cudaDeviceAttr attribute, int device) {
  (void)device;
  switch (attribute) {
    case cudaDevAttrMultiProcessorCount: *value = kSms; break;
    case cudaDevAttrComputeCapabilityMajor: *value = 9; break;
    case cudaDevAttrComputeCapabilityMinor: *value = 0; break;
    case cudaDevAttrClockRate: *value = kClockKhz; break;
    default: *value = 1;
  }
  return 0;
}

// Memory that is never written costs nothing.
int cudaMalloc(void** memory, size_t bytes) {
  *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return *memory == MAP_FAILED ? 2 : 0;
}

int cudaMemGetInfo(size_t* available, size_t* total) {
  *available = *total = kDeviceBytes;
  return 0;
}

int cudaMemcpy(void* to, const void* from, size_t bytes) {
  memcpy(to, from, bytes);
  return 0;
}

int cudaMemcpyAsync(void* to, const void* from, size_t bytes) {
  return cudaMemcpy(to, from, bytes);
}

int cudaPointerGetAttributes(struct cudaPointerAttributes* attributes, void* memory) {
  memset(attributes, 0, sizeof *attributes);
  attributes->type = cudaMemoryTypeDevice;
  attributes->devicePointer = memory;
  return 0;
}

int cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -1;
  return 0;
}

int cudaStreamIsCapturing(void* stream, int* status) {
  (void)stream;
  *status = 0;
  return 0;
}

int cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned version, unsigned long long flags,
                                     int* found) {
  (void)name, (void)version, (void)flags;
  *function = (void*)no_operation;
  if (found != NULL) *found = 0;
  return 0;
}

int cudaFuncGetAttributes(struct cudaFuncAttributes* attributes, const void* function) {
  (void)function;
  memset(attributes, 0, sizeof *attributes);
  attributes->maxThreadsPerBlock = 1024;
  return 0;
}

int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks) {
  *blocks = 1;
  return 0;
}

const char* cudaGetErrorName(int error) {
  return error == 0 ? "success" : "error";
}

const char* cudaGetErrorString(int error) {
  return cudaGetErrorName(error);
}

int cublasLtCreate(void** handle) {
  *handle = (void*)no_operation;
  return 0;
}

int cuDevicePrimaryCtxGetState(int device, unsigned* flags, int* active) {
  (void)device;
  *flags = 0;
  *active = 1;
  return 0;
}

// Finds one algorithm, whose structure nobody reads.
int cublasLtMatmulAlgoGetHeuristic(void* handle, void* operation, void* a, void* b, void* c, void* d, void* preference,
                                   int requested, void* results, int* found) {
  (void)handle, (void)operation, (void)a, (void)b, (void)c, (void)d, (void)preference, (void)requested, (void)results;
  *found = 1;
  return 0;
}

// The library that DeepJIT loads: one kernel.
int cuLibraryLoadFromFile(void** library) {
  *library = (void*)no_operation;
  return 0;
}

int cuLibraryGetKernelCount(unsigned* count) {
  *count = 1;
  return 0;
}

int cuLibraryEnumerateKernels(void** kernels) {
  *kernels = (void*)no_operation;
  return 0;
}

int cuKernelGetFunction(void** function, void* kernel) {
  *function = kernel;
  return 0;
}

int cuGetErrorName(int error, const char** text) {
  *text = cudaGetErrorName(error);
  return 0;
}

int cuGetErrorString(int error, const char** text) {
  return cuGetErrorName(error, text);
}
