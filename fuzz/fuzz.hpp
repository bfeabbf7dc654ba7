// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>

namespace cubinet::fuzz {

// Passes any bytes to one reader of untrusted bytes. Aborts if an answer contradicts itself.
// libFuzzer and the sanitizers detect the rest.
void read(ByteView bytes);

}  // namespace cubinet::fuzz
