// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace cubinet::test {

// What loops over random inputs divide their counts by. A sanitizer looks for accesses that are wrong, and
// finds them in a few; that no input has another answer than it should is for the optimised build to show.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr std::uint64_t kPropertyDivisor = 1000;
#elif defined(NDEBUG)
inline constexpr std::uint64_t kPropertyDivisor = 10;
#else
inline constexpr std::uint64_t kPropertyDivisor = 100;
#endif

}  // namespace cubinet::test
