// SPDX-License-Identifier: Apache-2.0
// tests/python/test_tvm_ffi.py calls the function through tvm-ffi, which has the messages.
#include "ffi_values.hpp"

#include <doctest/doctest.h>

using namespace cubinet::test;
using cubinet::tvm_ffi::Value;

// NOLINTNEXTLINE(bugprone-reserved-identifier): tvm-ffi prescribes the prefix.
extern "C" int __tvm_ffi_cubinet_trtllm_batch_decode_with_kv_cache(void*, const Value*, std::int32_t, Value*);

TEST_CASE("arguments of a wrong type or number return an error in the call of FlashInfer") {
  const Value wrong[] = {none(), integer(-1), boolean(true), number(0.5), text_value("x")};
  for (const Value& each : wrong) {
    const std::vector<Value> arguments(19, each);
    for (std::int32_t given = 0; given <= 19; ++given) {
      Value result = none();
      CHECK(__tvm_ffi_cubinet_trtllm_batch_decode_with_kv_cache(nullptr, arguments.data(), given, &result) ==
            -1);
      CHECK(result.type == cubinet::tvm_ffi::kNone);
    }
  }
}
