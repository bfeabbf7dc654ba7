// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace cubinet {

std::string format_bytes(std::uint64_t bytes);  // "45.2 KiB"
std::string format_seconds(double seconds);     // "1.23 s", "4.56 ms", "7.89 us"

}  // namespace cubinet
