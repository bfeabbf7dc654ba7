// SPDX-License-Identifier: Apache-2.0
#include "host.hpp"

#include <cubinet/base/dynamic_library.hpp>

namespace cubinet::tvm_ffi {
namespace {

Host find_host() {
  Host host;
  const auto library = DynamicLibrary::find_loaded("libtvm_ffi.so");
  if (!library) return host;
  host.set_error = reinterpret_cast<decltype(host.set_error)>(library->find("TVMFFIErrorSetRaisedFromCStr"));
  host.current_stream = reinterpret_cast<decltype(host.current_stream)>(library->find("TVMFFIEnvGetStream"));
  return host;
}

}  // namespace

// Only a caller that has loaded tvm-ffi calls a function, and tvm-ffi is never unloaded, so what is
// found at the first call stays.
const Host& host() {
  static const Host found = find_host();
  return found;
}

}  // namespace cubinet::tvm_ffi
