// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>
#include <cubinet/spec/cubin.hpp>

#include <cstdint>

namespace cubinet {

// Returns the bytes of a cubin's sections that are loaded to the device: code, constants and
// variables, without shared memory. Returns the image's size for PTX, whose machine code is not
// known before it is loaded.
std::uint64_t device_bytes(const CubinRecord& record, ByteView image);

}  // namespace cubinet
