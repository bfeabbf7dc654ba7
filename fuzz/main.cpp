// SPDX-License-Identifier: Apache-2.0
// The entry point for libFuzzer.
#include "fuzz.hpp"

#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  cubinet::fuzz::read(std::as_bytes(std::span(data, size)));
  return 0;
}
