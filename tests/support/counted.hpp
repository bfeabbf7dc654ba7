// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <string_view>

namespace cubinet::test {

// Appends a line "COUNT WHAT" to the file that CUBINET_TEST_COUNTS names, or does nothing if it is
// not set. scripts/campaign.sh adds up the lines of all tests.
inline void counted(std::size_t count, std::string_view what) {
  if (const char* file = std::getenv("CUBINET_TEST_COUNTS"))
    std::ofstream(file, std::ios::app) << count << ' ' << what << std::endl;
}

}  // namespace cubinet::test
