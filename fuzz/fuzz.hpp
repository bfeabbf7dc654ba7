// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>

namespace cubinet::fuzz {

// Reads any bytes as one of the readers of foreign bytes does. Ends the process where an answer contradicts
// itself; libFuzzer and the sanitizers see the rest.
void read(ByteView bytes);

}  // namespace cubinet::fuzz
