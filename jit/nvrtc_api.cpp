// SPDX-License-Identifier: Apache-2.0
#include "nvrtc_api.hpp"

#include "exit_gate.hpp"

#include <cstdlib>

namespace cubinet {

Result<void> check_nvrtc_environment() {
  constexpr const char* kDialect = "NV_NVVM_VERSION";
  if (std::getenv(kDialect) == nullptr) return {};
  return Error{ErrorCode::unavailable,
               std::string("the environment sets ") + kDialect +
                   ", by which NVRTC would make other code than it does elsewhere",
               std::string("unset ") + kDialect};
}

Result<std::shared_ptr<const NvrtcApi>> NvrtcApi::open(const std::filesystem::path& library,
                                                       const std::filesystem::path& builtins) {
  CUBINET_TRY(check_nvrtc_environment());
  std::optional<DynamicLibrary> opened_builtins;
  if (!builtins.empty()) {
    // NVRTC opens its builtins by soname at its first compilation. The dynamic loader may not
    // search NVRTC's folder, or may find those of another release. Builtins that are already loaded
    // are used.
    CUBINET_TRY_ASSIGN(opened_builtins, DynamicLibrary::open(builtins.string()));
  }
  auto opened = DynamicLibrary::open(library.string());
  if (!opened) {
    Error error = std::move(opened).error();
    error.remedy =
        "install NVRTC 12.0 or later (the CUDA toolkit, or the wheel nvidia-cuda-nvrtc), or name its library";
    return error;
  }
  const std::shared_ptr<NvrtcApi> api(new NvrtcApi(std::move(*opened), std::move(opened_builtins)));
  const std::string missing = api->find_functions();
  // The version is checked first, so an old library is reported as old and not as one that lacks a
  // function.
  if (api->nvrtcVersion != nullptr &&
      api->nvrtcVersion(&api->version_.major, &api->version_.minor) == NVRTC_SUCCESS &&
      api->version_.major < kOldestNvrtcMajor) {
    return Error{ErrorCode::unsupported,
                 "'" + library.string() + "' is NVRTC " + api->version_.to_string() + ", which is too old",
                 "install NVRTC 12.0 or later"};
  }
  CUBINET_TRY(api->check_builtins());
  if (!missing.empty()) {
    return Error{ErrorCode::unavailable,
                 "'" + library.string() + "' has no function " + missing + ": it is no NVRTC",
                 "name another library, or install NVRTC 12.0 or later"};
  }
  return std::shared_ptr<const NvrtcApi>(api);
}

std::string NvrtcApi::find_functions() {
  std::string missing;
#define CUBINET_RESOLVE(function, major, minor)                                 \
  function = reinterpret_cast<decltype(&::function)>(library_.find(#function)); \
  if (function == nullptr && missing.empty()) missing = #function " (CUDA " #major "." #minor ")";
  CUBINET_NVRTC_FUNCTIONS(CUBINET_RESOLVE)
#undef CUBINET_RESOLVE
  install_bundled_headers =
      reinterpret_cast<decltype(install_bundled_headers)>(library_.find("nvrtcInstallBundledHeaders"));
  return missing;
}

Result<std::shared_ptr<const NvrtcApi>> NvrtcApi::copy() const {
  CUBINET_TRY(check_nvrtc_environment());
  CUBINET_TRY_ASSIGN(DynamicLibrary library, DynamicLibrary::open_copy(library_, without_destructors()));
  const std::shared_ptr<NvrtcApi> api(new NvrtcApi(std::move(library), std::nullopt));
  if (const std::string missing = api->find_functions(); !missing.empty())
    return Error{ErrorCode::internal,
                 "a copy of '" + library_.path().string() + "' has no function " + missing};
  api->version_ = version_;
  return std::shared_ptr<const NvrtcApi>(api);
}

// Checks that NVRTC will use our builtins. The process may have loaded others before, and NVRTC
// gets the first ones with the soname.
Result<void> NvrtcApi::check_builtins() const {
  if (!builtins_) return {};
  const auto used = DynamicLibrary::find_loaded("libnvrtc-builtins.so." + std::to_string(version_.major) +
                                                "." + std::to_string(version_.minor));
  if (!used || used->is_same_as(*builtins_)) return {};
  const auto build = used->build_id();
  if (build && build == builtins_->build_id()) return {};
  return Error{ErrorCode::unavailable,
               "'" + library_.path().string() + "' would compile with '" + used->path().string() +
                   "', which the process has loaded already, and not with its own '" +
                   builtins_->path().string() + "'",
               "name the libnvrtc that is beside the builtins that are loaded, or load none before"};
}

}  // namespace cubinet
