// SPDX-License-Identifier: Apache-2.0
#include "host.hpp"

#include <doctest/doctest.h>

TEST_CASE("a process without tvm ffi has none of its functions") {
  CHECK((cubinet::tvm_ffi::host().set_error == nullptr));
  CHECK((cubinet::tvm_ffi::host().current_stream == nullptr));
}
