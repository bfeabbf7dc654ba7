// SPDX-License-Identifier: Apache-2.0
#include "nvrtc_api.hpp"

namespace cubinet {

Result<std::shared_ptr<const NvrtcApi>> NvrtcApi::open(const std::filesystem::path& library,
                                                       const std::filesystem::path& builtins) {
  if (!builtins.empty()) {
    // NVRTC opens its builtins by soname at its first compilation, which finds neither those beside it where
    // the dynamic loader does not search nor, with two releases installed, surely its own. One that is loaded
    // is taken.
    CUBINET_TRY(DynamicLibrary::open(builtins.string()));
  }
  auto opened = DynamicLibrary::open(library.string());
  if (!opened) {
    Error error = std::move(opened).error();
    error.remedy =
        "install NVRTC 12.0 or later (the CUDA toolkit, or the wheel nvidia-cuda-nvrtc), or name its library";
    return error;
  }
  const std::shared_ptr<NvrtcApi> api(new NvrtcApi(std::move(*opened)));
  std::string missing;
#define CUBINET_RESOLVE(name, major, minor)                                   \
  api->name = reinterpret_cast<decltype(&::name)>(api->library_.find(#name)); \
  if (api->name == nullptr && missing.empty()) missing = #name " (CUDA " #major "." #minor ")";
  CUBINET_NVRTC_FUNCTIONS(CUBINET_RESOLVE)
#undef CUBINET_RESOLVE
  // The version first: an old library is told as old, not as one that lacks a function.
  if (api->nvrtcVersion != nullptr &&
      api->nvrtcVersion(&api->version_.major, &api->version_.minor) == NVRTC_SUCCESS &&
      api->version_.major < kOldestNvrtcMajor) {
    return Error{ErrorCode::unsupported,
                 "'" + library.string() + "' is NVRTC " + std::to_string(api->version_.major) + "." +
                     std::to_string(api->version_.minor) + ", which is too old",
                 "install NVRTC 12.0 or later"};
  }
  if (!missing.empty()) {
    return Error{ErrorCode::unavailable,
                 "'" + library.string() + "' has no function " + missing + ": it is no NVRTC",
                 "name another library, or install NVRTC 12.0 or later"};
  }
  return std::shared_ptr<const NvrtcApi>(api);
}

}  // namespace cubinet
