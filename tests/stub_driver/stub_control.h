// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stddef.h>
#include <stdint.h>

// The controls of the stub driver for tests. The stub exports them beside the driver's functions,
// and dlsym finds them. Thread-safe. Function names are those of the loader's table ("cuMemAlloc").
#define CUBINET_STUB_CONTROLS(X)                                                             \
  /* Resets all objects, faults, counts and launches: one device of 9.0, CUDA 13.0. */       \
  X(void, reset, (void))                                                                     \
  X(void, set_version, (int cuda_version))                                                   \
  X(void, set_devices, (int count, int major, int minor))                                    \
  X(void, set_capability, (int ordinal, int major, int minor))                               \
  /* The nth call from now on (1: the next) only returns `result`. 0: no call does. */       \
  X(void, fail, (const char* function, unsigned nth, int result))                            \
  /* Makes cuGetProcAddress not find the function. */                                        \
  X(void, hide, (const char* function))                                                      \
  /* Delays every call of the function. */                                                   \
  X(void, delay, (const char* function, unsigned microseconds))                              \
  /* Resets a primary context: its functions are invalid, and libraries give new ones. */      \
  X(void, reset_context, (int ordinal))                                                      \
  /* Every later call returns CUDA_ERROR_DEINITIALIZED, as after the driver's exit. */       \
  X(void, shut_down, (void))                                                                 \
  /* Returns the calls since the last reset. NULL: of all functions. */                      \
  X(unsigned, calls, (const char* function))                                                 \
  /* Returns the live "image", "context" (retains), "memory", "stream", "event", "graph". */ \
  X(unsigned, live, (const char* kind))                                                      \
  /* Returns the number of contexts on the calling thread's stack. */                        \
  X(unsigned, current_contexts, (void))                                                      \
  X(size_t, launch_count, (void))                                                            \
  X(int, launch, (size_t index, struct cubinet_stub_launch_record * record))

#ifdef __cplusplus
extern "C" {
#endif

// A launch that the stub accepted. Launches in a graph are recorded when the graph is launched.
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
  unsigned char arguments[1024];
};

#define CUBINET_STUB_DECLARE(result, name, parameters) \
  __attribute__((visibility("default"))) result cubinet_stub_##name parameters;
CUBINET_STUB_CONTROLS(CUBINET_STUB_DECLARE)
#undef CUBINET_STUB_DECLARE

#ifdef __cplusplus
}
#endif
