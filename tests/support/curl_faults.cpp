// SPDX-License-Identifier: Apache-2.0
#include "support/curl_faults.hpp"

#include <cstdlib>
#include <dlfcn.h>

namespace cubinet::test {

CurlFaults::CurlFaults() : library_(CUBINET_TEST_FAULTY_CURL) {
  void* library = dlopen(library_.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) std::abort();
  const auto state = reinterpret_cast<State* (*)()>(dlsym(library, "cubinet_curl_faults"));
  if (state == nullptr) std::abort();
  state_ = state();
}

void CurlFaults::set(Kind kind, unsigned at) {
  state_->kind = Kind::none;
  state_->calls = 0;
  state_->at = at;
  state_->kind = kind;
}

}  // namespace cubinet::test
