// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stddef.h>
#include <stdint.h>

// How tests steer the stub driver: exported by it beside the driver's functions and found by dlsym.
// Thread-safe. Function names are those of the loader's table ("cuMemAlloc").
#define CUBINET_STUB_CONTROLS(X)                                                                         \
  /* Destroys every object and forgets faults, counts and launches: one device of 9.0, CUDA 13.0. */     \
  X(void, reset, (void))                                                                                 \
  X(void, set_version, (int cuda_version))                                                               \
  X(void, set_devices, (int count, int major, int minor))                                                \
  X(void, set_capability, (int ordinal, int major, int minor))                                           \
  /* The nth call from now on (1: the next) answers with `result` and does nothing; 0: none does. */     \
  X(void, fail, (const char* function, unsigned nth, int result))                                        \
  /* cuGetProcAddress does not find it. */                                                               \
  X(void, hide, (const char* function))                                                                  \
  /* Every call of the function takes this much longer. */                                               \
  X(void, delay, (const char* function, unsigned microseconds))                                          \
  /* Every call from now on answers CUDA_ERROR_DEINITIALIZED, as after the driver's own exit handler. */ \
  X(void, shut_down, (void))                                                                             \
  /* Calls since the last reset; NULL: of all functions. */                                              \
  X(unsigned, calls, (const char* function))                                                             \
  /* Living objects of "image", "context" (retains), "memory", "stream", "event" or "graph". */          \
  X(unsigned, live, (const char* kind))                                                                  \
  /* Contexts on the calling thread's stack. */                                                          \
  X(unsigned, current_contexts, (void))                                                                  \
  X(size_t, launch_count, (void))                                                                        \
  X(int, launch, (size_t index, struct cubinet_stub_launch_record * record))

#ifdef __cplusplus
extern "C" {
#endif

// One launch that the stub accepted. Launches in a graph are recorded when the graph is launched.
struct cubinet_stub_launch_record {
  char kernel[128];
  uint32_t grid[3];
  uint32_t block[3];
  uint32_t cluster[3];
  uint32_t dynamic_shared_bytes;
  int device;
  const void* stream;
  int programmatic;
  int cooperative;
  int spreads_clusters;
  int in_graph;
  size_t argument_bytes; /* of all arguments, laid out one after the other */
  unsigned char arguments[512];
};

#define CUBINET_STUB_DECLARE(result, name, parameters) \
  __attribute__((visibility("default"))) result cubinet_stub_##name parameters;
CUBINET_STUB_CONTROLS(CUBINET_STUB_DECLARE)
#undef CUBINET_STUB_DECLARE

#ifdef __cplusplus
}
#endif
