// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <string_view>

namespace cubinet::test {

// A line "COUNT WHAT" for scripts/campaign.sh, which adds those of all tests up, in the file that
// CUBINET_TEST_COUNTS names; without it none.
inline void counted(std::size_t count, std::string_view what) {
  if (const char* file = std::getenv("CUBINET_TEST_COUNTS"))
    std::ofstream(file, std::ios::app) << count << ' ' << what << std::endl;
}

}  // namespace cubinet::test
