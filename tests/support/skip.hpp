// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace cubinet::test {

// Prints the reason why a test case cannot run here (no GPU, not root). Return from the test case
// after it. If every assertion that ran held, the executable ends with kSkippedStatus, which ctest
// reports as skipped, not as passed.
void skip(std::string_view reason);

bool skip_was_called();

inline constexpr int kSkippedStatus = 77;

}  // namespace cubinet::test
