/* SPDX-License-Identifier: Apache-2.0 */
/* A C program that uses the installed C library without a GPU: plans attention and compiles a kernel
 * if NVRTC is found. Exits with 0 if every step is as expected. */
#include <cubinet/cubinet.h>

#include <stdio.h>
#include <string.h>

static int failed(const char* what, cubinet_error* error) {
  cubinet_error_info info = CUBINET_ERROR_INFO_INIT;
  if (error == NULL || cubinet_error_get(error, &info) != CUBINET_OK) {
    fprintf(stderr, "%s failed without an error\n", what);
  } else {
    fprintf(stderr, "%s: %.*s\n", what, (int)info.message.size, info.message.data);
  }
  cubinet_error_release(error);
  return 1;
}

int main(int argc, char** argv) {
  cubinet_config* config = NULL;
  cubinet_runtime* runtime = NULL;
  cubinet_spec* spec = NULL;
  cubinet_kernel* kernel = NULL;
  cubinet_text* text = NULL;
  cubinet_error* error = NULL;
  cubinet_value value = CUBINET_VALUE_INIT;
  cubinet_attention_problem problem = CUBINET_ATTENTION_PROBLEM_INIT;
  cubinet_string json;

  if (cubinet_abi_version() != CUBINET_ABI_VERSION) return failed("cubinet_abi_version", NULL);
  if (cubinet_config_create(CUBINET_ABI_VERSION, &config, &error)) return failed("cubinet_config_create", error);
  if (argc > 1 && cubinet_config_set(config, cubinet_str("toolkit"), cubinet_str(argv[1]), &error))
    return failed("cubinet_config_set", error);
  if (cubinet_runtime_create(config, &runtime, &error)) return failed("cubinet_runtime_create", error);

  problem.heads_q = 8;
  if (cubinet_attention_plan(runtime, &problem, NULL, cubinet_str("9.0"), 0, &text, &error))
    return failed("cubinet_attention_plan", error);
  json = cubinet_text_get(text);
  if (json.size == 0 || strstr(json.data, "attention_") == NULL) return failed("the plan", NULL);
  cubinet_text_release(text);

  if (cubinet_spec_create(cubinet_str("rms_norm"), &spec, &error)) return failed("cubinet_spec_create", error);
  value.type = CUBINET_VALUE_INTEGER;
  value.integer = 4096;
  if (cubinet_spec_set(spec, cubinet_str("hidden_size"), &value, &error)) return failed("cubinet_spec_set", error);
  value.type = CUBINET_VALUE_TEXT;
  value.text = cubinet_str("bf16");
  if (cubinet_spec_set(spec, cubinet_str("dtype"), &value, &error)) return failed("cubinet_spec_set", error);
  if (cubinet_kernel_from_spec(runtime, spec, &kernel, &error)) return failed("cubinet_kernel_from_spec", error);
  if (argc > 1) {
    if (cubinet_kernel_image(kernel, cubinet_str("sm_90a"), CUBINET_IMAGE_CUBIN, &text, &error))
      return failed("cubinet_kernel_image", error);
    if (memcmp(cubinet_text_get(text).data, "\177ELF", 4) != 0) return failed("the image", NULL);
    cubinet_text_release(text);
  }
  cubinet_spec_release(spec);
  cubinet_config_release(config);
  cubinet_runtime_release(runtime);
  cubinet_kernel_release(kernel);
  puts("done");
  return 0;
}
