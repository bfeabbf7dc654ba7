// SPDX-License-Identifier: Apache-2.0
#include "standard_headers.hpp"

#include <algorithm>
#include <array>

namespace cubinet {
namespace {

// Those that CCCL 2 and 3 (CUDA 12 and 13) compile under NVRTC.
constexpr std::array<std::string_view, 28> kHeaders = {
    "algorithm",   "array",   "atomic",  "bit",     "cassert",  "cfloat",  "chrono",     "climits",
    "cmath",       "complex", "cstddef", "cstdint", "cstdlib",  "cstring", "functional", "initializer_list",
    "iterator",    "limits",  "memory",  "numeric", "optional", "ratio",   "span",       "tuple",
    "type_traits", "utility", "variant", "version"};

constexpr std::array<std::string_view, 6> kBuiltIn = {"assert.h", "cstdio",   "math.h",
                                                      "stdio.h",  "stdlib.h", "string.h"};

// Its names belong into the global namespace too.
constexpr std::string_view kStdint = "stdint.h";
constexpr std::array<std::string_view, 8> kFixedWidth = {"int8_t",  "int16_t",  "int32_t",  "int64_t",
                                                         "uint8_t", "uint16_t", "uint32_t", "uint64_t"};

}  // namespace

bool is_built_in(std::string_view header) {
  return std::find(kBuiltIn.begin(), kBuiltIn.end(), header) != kBuiltIn.end();
}

std::vector<std::string> counterparts_in_cccl(std::string_view header) {
  if (header == kStdint) return {"cuda/std/cstdint"};
  if (std::find(kHeaders.begin(), kHeaders.end(), header) == kHeaders.end()) return {};
  const std::string name(header);
  // CCCL 3 has some under an internal name alone.
  return {"cuda/std/" + name, "cuda/std/__" + name + "_"};
}

std::string standard_header(std::string_view header, std::string_view counterpart) {
  std::string text =
      "#pragma once\n#include <" + std::string(counterpart) +
      ">\nnamespace cuda { namespace std {} }\nnamespace std { using namespace ::cuda::std; }\n";
  if (header != kStdint) return text;
  for (const std::string_view type : kFixedWidth)
    text += "using ::cuda::std::" + std::string(type) + ";\n";
  return text + "using ::cuda::std::intptr_t;\nusing ::cuda::std::uintptr_t;\n";
}

}  // namespace cubinet
