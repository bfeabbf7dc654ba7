// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/loader/driver.hpp>
#include <cubinet/spec/cubin.hpp>

#include <string>
#include <string_view>

namespace cubinet {

// The subject of a driver call in messages. It is cheap to construct: its text is only formatted
// when a call has failed.
struct KernelSubject {
  const Device& device;
  const CubinRecord& record;
  const EntryPoint* entry_point = nullptr;  // nullptr: the whole module

  // Returns "launching 'decode' of attention_decode(dtype=bf16) for sm_90a on device 0 (NVIDIA
  // H200)".
  std::string text(std::string_view doing) const;
  Error error(int result, const char* function, std::string_view doing) const {
    return device.driver()->error(result, function, text(doing));
  }
};

}  // namespace cubinet
