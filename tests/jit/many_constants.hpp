// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace cubinet::test {

// Returns a text with as many constants as a header of CCCL or CuTe, which no kernel uses.
inline std::string many_constants() {
  std::string text = "namespace unused_constants_of_a_large_header {\n";
  for (int i = 0; i < 1200; ++i)
    text +=
        "constexpr int constant_with_a_long_name_" + std::to_string(i) + " = " + std::to_string(i) + ";\n";
  return text + "}\n";
}

}  // namespace cubinet::test
