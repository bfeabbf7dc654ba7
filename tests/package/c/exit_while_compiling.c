/* SPDX-License-Identifier: Apache-2.0 */
/* Returns from main while threads compile with NVRTC, as a server does that is told to end. The
 * status must be 0: nothing crashes and nothing hangs. The arguments are a CUDA toolkit and the
 * number of kernels that are compiled before. */
#include <cubinet/cubinet.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { kThreads = 4 };

static cubinet_runtime* runtime;
static atomic_int next = 1;
static atomic_int compiled;

static void* compile(void* unused) {
  (void)unused;
  for (;;) {
    char text[256];
    const cubinet_string kernels[] = {cubinet_str("k")};
    cubinet_source source = CUBINET_SOURCE_INIT;
    cubinet_kernel* kernel = NULL;
    cubinet_text* image = NULL;
    snprintf(text, sizeof text, "extern \"C\" __global__ void k(int* x) { *x = %d; }",
             atomic_fetch_add(&next, 1));
    source.name = cubinet_str("k");
    source.text = cubinet_str(text);
    source.kernels = kernels;
    source.kernel_count = 1;
    if (cubinet_kernel_from_source(runtime, &source, &kernel, NULL) == CUBINET_OK &&
        cubinet_kernel_image(kernel, cubinet_str("sm_90a"), 0, &image, NULL) == CUBINET_OK) {
      atomic_fetch_add(&compiled, 1);
    }
    cubinet_text_release(image);
    cubinet_kernel_release(kernel);
  }
  return NULL;
}

int main(int argc, char** argv) {
  cubinet_config* config = NULL;
  cubinet_error* error = NULL;
  const int enough = argc > 2 ? atoi(argv[2]) : 0;
  if (argc < 2 || cubinet_config_create(CUBINET_ABI_VERSION, &config, &error) != CUBINET_OK ||
      cubinet_config_set(config, cubinet_str("toolkit"), cubinet_str(argv[1]), &error) != CUBINET_OK ||
      cubinet_runtime_create(config, &runtime, &error) != CUBINET_OK) {
    return 1;
  }
  for (int i = 0; i < kThreads; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, compile, NULL) != 0) return 1;
  }
  while (atomic_load(&compiled) < enough) {
  }
  return 0;
}
