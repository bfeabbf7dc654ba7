// SPDX-License-Identifier: Apache-2.0
#pragma once
// Fields of a kernel's argument.
#include <cubinet/kernel_templates/fast_divisor.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

namespace cubinet {

inline std::uint64_t address_of(const std::vector<std::int32_t>& numbers) {
  return reinterpret_cast<std::uint64_t>(numbers.data());
}

inline kernel_templates::FastDivisor divisor(int number) {
  const auto made = kernel_templates::make_fast_divisor(static_cast<std::uint32_t>(number));
  REQUIRE(made);
  return *made;
}

}  // namespace cubinet
