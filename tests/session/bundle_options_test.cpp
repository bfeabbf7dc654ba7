// SPDX-License-Identifier: Apache-2.0
#include <cubinet/session/bundle_options.hpp>

#include <doctest/doctest.h>

using namespace cubinet;

TEST_CASE("a channel holds no control characters, and may be left out") {
  CHECK(check_bundle_options({}));
  CHECK(check_bundle_options({"kernels of today", 1}));
  CHECK(check_bundle_options({"two\nlines", 1}).error().code == ErrorCode::invalid_argument);
}
