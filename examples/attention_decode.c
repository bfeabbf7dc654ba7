/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes one token of four sequences (the heads of Llama-3-8B) with a paged KV cache, in C. All
 * queries are zero, so each output row is the mean of V, which is 1 everywhere.
 *
 *   example_attention_decode_c [HOME [CUDA]]
 *
 * CUDA is a CUDA toolkit, or the folder nvidia/cu13 of NVIDIA's wheels.
 */
#include <cubinet/cubinet.h>

#include <cuda.h>

#include <stdio.h>
#include <stdlib.h>

enum { BATCH = 4, HEADS = 32, KV_HEADS = 8, HEAD_DIM = 128, TOKENS = 1024, PAGE = 64, PAGES = BATCH * TOKENS / PAGE };
enum { ROW_BYTES = HEAD_DIM * 2, KV_BYTES = BATCH * TOKENS * KV_HEADS * ROW_BYTES, Q_BYTES = BATCH * HEADS * ROW_BYTES };
#define BF16_ONE 0x3f80

/* Prints the error and ends the program if a call failed. */
static void check(cubinet_status status, cubinet_error** failure) {
  cubinet_error* error = *failure;
  cubinet_error_info info = CUBINET_ERROR_INFO_INIT;
  if (status == CUBINET_OK) return;
  cubinet_error_get(error, &info);
  fprintf(stderr, "%.*s: %.*s (%.*s)\n", (int)info.name.size, info.name.data, (int)info.message.size,
          info.message.data, (int)info.remedy.size, info.remedy.data);
  cubinet_error_release(error);
  exit(1);
}

static void check_driver(CUresult result) {
  if (result == CUDA_SUCCESS) return;
  fprintf(stderr, "the driver returned %d\n", (int)result);
  exit(1);
}

static cubinet_tensor copy_to_device(const void* bytes, size_t size) {
  cubinet_tensor tensor = CUBINET_TENSOR_INIT;
  CUdeviceptr address = 0;
  check_driver(cuMemAlloc(&address, size));
  check_driver(cuMemcpyHtoD(address, bytes, size));
  tensor.address = address;
  tensor.bytes = size;
  return tensor;
}

int main(int argc, char** argv) {
  static unsigned short values[KV_BYTES / 2], zeros[KV_BYTES / 2], output[Q_BYTES / 2];
  int lengths[BATCH] = {TOKENS, 1000, 17, 1}, pages[PAGES], device_handle = 0;
  CUcontext context = NULL;
  cubinet_error* error = NULL;
  cubinet_config* config = NULL;
  cubinet_runtime* runtime = NULL;
  cubinet_attention* attention = NULL;
  cubinet_workspace* workspace = NULL;
  cubinet_attention_problem problem = CUBINET_ATTENTION_PROBLEM_INIT;
  cubinet_attention_tensors tensors = CUBINET_ATTENTION_TENSORS_INIT;

  check_driver(cuInit(0));
  check_driver(cuDeviceGet(&device_handle, 0));
  check_driver(cuDevicePrimaryCtxRetain(&context, device_handle));
  check_driver(cuCtxSetCurrent(context));

  check(cubinet_config_create(CUBINET_ABI_VERSION, &config, &error), &error);
  check(cubinet_config_set(config, cubinet_str("home"), cubinet_str(argc > 1 ? argv[1] : "cubinet-home"), &error),
        &error);
  if (argc > 2) check(cubinet_config_set(config, cubinet_str("toolkit"), cubinet_str(argv[2]), &error), &error);
  check(cubinet_runtime_create(config, &runtime, &error), &error);
  cubinet_config_release(config);
  problem.batch = BATCH;
  problem.kv_len = TOKENS;
  problem.heads_q = HEADS;
  problem.heads_kv = KV_HEADS;
  problem.page_size = PAGE;
  check(cubinet_attention_bind(runtime, &problem, NULL, 0, &attention, &error), &error);
  check(cubinet_workspace_create(attention, &workspace, &error), &error);

  for (size_t i = 0; i < KV_BYTES / 2; ++i) values[i] = BF16_ONE;
  for (int i = 0; i < PAGES; ++i) pages[i] = (i * 37) % PAGES;
  tensors.q = copy_to_device(zeros, Q_BYTES);
  tensors.k = copy_to_device(zeros, KV_BYTES);
  tensors.v = copy_to_device(values, KV_BYTES);
  tensors.o = copy_to_device(zeros, Q_BYTES);
  tensors.page_table = copy_to_device(pages, sizeof pages);
  tensors.kv_lengths = copy_to_device(lengths, sizeof lengths);
  check(cubinet_attention_run(attention, &tensors, workspace, NULL, &error), &error);
  check_driver(cuMemcpyDtoH(output, tensors.o.address, Q_BYTES));
  for (size_t i = 0; i < Q_BYTES / 2; ++i) {
    if (output[i] == BF16_ONE) continue;
    fprintf(stderr, "element %zu of the output is wrong\n", i);
    return 1;
  }
  cubinet_workspace_release(workspace);
  cubinet_attention_release(attention);
  cubinet_runtime_release(runtime);
  puts("each result is right");
  return 0;
}
