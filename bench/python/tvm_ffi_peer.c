/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>

/* A function by tvm-ffi's calling convention that ignores its arguments and returns None. */
__attribute__((visibility("default"))) int __tvm_ffi_nothing(void* handle, const void* arguments, int32_t count,
                                                             void* result) {
  (void)handle;
  (void)arguments;
  (void)count;
  (void)result;
  return 0;
}
