// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace cubinet::tvm_ffi {

// Functions of the tvm-ffi library that the process has loaded.
struct Host {
  // Sets the error of the calling thread, which the caller of a function takes from there.
  void (*set_error)(const char* kind, const char* message) = nullptr;
  // Returns the stream that the calling thread uses on a device; NULL is the legacy default stream.
  void* (*current_stream)(std::int32_t device_type, std::int32_t device) = nullptr;
};

// Returns the functions. They are null in a process without tvm-ffi.
const Host& host();

}  // namespace cubinet::tvm_ffi
