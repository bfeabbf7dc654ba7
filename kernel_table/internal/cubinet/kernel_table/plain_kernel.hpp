// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/sha256.hpp>
#include <cubinet/spec/sm_target.hpp>

#include <cstdint>
#include <string>

namespace cubinet {

// A kernel of another operation (GEMM). It is found, verified and loaded by name only.
struct PlainKernel {
  std::string function_name;
  std::uint32_t shared_bytes = 0;
  std::uint32_t threads = 0;
  SmTarget target;
  Sha256Digest digest;

  friend bool operator==(const PlainKernel&, const PlainKernel&) = default;
};

}  // namespace cubinet
