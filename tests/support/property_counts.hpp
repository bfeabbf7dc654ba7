// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace cubinet::test {

// The divisor of the counts of loops over random inputs. A sanitizer searches for invalid accesses,
// and finds them in a few inputs. The optimised build shows that no input has a wrong result.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr std::uint64_t kPropertyDivisor = 1000;
#elif defined(NDEBUG)
inline constexpr std::uint64_t kPropertyDivisor = 10;
#else
inline constexpr std::uint64_t kPropertyDivisor = 100;
#endif

}  // namespace cubinet::test
