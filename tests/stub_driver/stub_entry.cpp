// SPDX-License-Identifier: Apache-2.0
// The functions that the stub exports as a driver: the two that are looked up by symbol, and
// through them all others.
#include "stub_state.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace cubinet::stub {
namespace {

// Calls the table's function after counting the call and applying a fault that a test set.
template <std::size_t Index, auto Implementation>
struct Counted;
template <std::size_t Index, class... Arguments, CUresult (*Implementation)(Arguments...)>
struct Counted<Index, Implementation> {
  static CUresult call(Arguments... arguments) {
    if (const auto answer = enter(Index)) return *answer;
    return Implementation(arguments...);
  }
};

constexpr std::size_t position_of(const char* name) {
  for (std::size_t i = 0; i < kDriverFunctions.size(); ++i) {
    if (std::string_view(kDriverFunctions[i].name) == name) return i;
  }
  return kDriverFunctions.size();
}

template <class Pointer>
void* address_of(Pointer function) {
  void* address = nullptr;
  static_assert(sizeof(address) == sizeof(function));
  std::memcpy(&address, &function, sizeof(address));
  return address;
}

void* find(const char* symbol, int version) {
  const std::optional<std::size_t> index = index_of(symbol);
  if (!index || kDriverFunctions[*index].version > std::min(version, state().version.load())) return nullptr;
  {
    State& now = state();
    const std::lock_guard lock(now.mutex);
    if (std::find(now.hidden.begin(), now.hidden.end(), symbol) != now.hidden.end()) return nullptr;
  }
#define CUBINET_STUB_ADDRESS(name, introduced) \
  if (*index == position_of(#name)) return address_of(&Counted<position_of(#name), &stub_##name>::call);
  CUBINET_DRIVER_FUNCTIONS(CUBINET_STUB_ADDRESS)
#undef CUBINET_STUB_ADDRESS
  return nullptr;
}

CUresult answer(const char* symbol, void** address, int version) {
  if (symbol == nullptr || address == nullptr || version > state().version) return CUDA_ERROR_INVALID_VALUE;
  *address = find(symbol, version);
  return *address == nullptr ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
}

}  // namespace
}  // namespace cubinet::stub

#undef cuGetProcAddress
#define CUBINET_STUB_EXPORT extern "C" __attribute__((visibility("default")))

#ifdef CUBINET_STUB_CUDA_11
CUBINET_STUB_EXPORT CUresult cuGetProcAddress(const char* symbol, void** address, int version, cuuint64_t);
CUresult cuGetProcAddress(const char* symbol, void** address, int version, cuuint64_t) {
  return cubinet::stub::answer(symbol, address, version);
}
#else
CUBINET_STUB_EXPORT CUresult cuGetProcAddress_v2(const char* symbol, void** address, int version, cuuint64_t,
                                                 CUdriverProcAddressQueryResult*);
CUresult cuGetProcAddress_v2(const char* symbol, void** address, int version, cuuint64_t,
                             CUdriverProcAddressQueryResult*) {
  return cubinet::stub::answer(symbol, address, version);
}
#endif

CUBINET_STUB_EXPORT CUresult cuDriverGetVersion(int* version) {
  if (const auto result = cubinet::stub::enter(cubinet::stub::position_of("cuDriverGetVersion")))
    return *result;
  return cubinet::stub::stub_cuDriverGetVersion(version);
}
