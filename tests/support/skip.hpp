// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace cubinet::test {

// For a test case that finds that it cannot run here (no GPU, not root): prints the reason. Return from the
// test case after it. When every assertion that did run held, the executable ends with kSkippedStatus, which
// ctest reports as skipped, not as passed.
void skip(std::string_view reason);

bool skip_was_called();

inline constexpr int kSkippedStatus = 77;

}  // namespace cubinet::test
