// SPDX-License-Identifier: Apache-2.0
#include "support/skip.hpp"

#include <atomic>
#include <cstdio>

namespace cubinet::test {

namespace {
std::atomic<bool> skipped = false;
}

void skip(std::string_view reason) {
  skipped = true;
  std::fprintf(stderr, "skipped: %.*s\n", static_cast<int>(reason.size()), reason.data());
}

bool skip_was_called() {
  return skipped;
}

}  // namespace cubinet::test
