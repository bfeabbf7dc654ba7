// SPDX-License-Identifier: Apache-2.0
#include "nvjitlink_api.hpp"

namespace cubinet {

Result<std::shared_ptr<const NvJitLinkApi>> NvJitLinkApi::open(const std::filesystem::path& library,
                                                               NvrtcVersion version) {
  auto opened = DynamicLibrary::open(library.string());
  if (!opened) {
    Error error = std::move(opened).error();
    error.remedy = "install nvJitLink again (the CUDA toolkit, or the wheel nvidia-nvjitlink)";
    return error;
  }
  const std::shared_ptr<NvJitLinkApi> api(new NvJitLinkApi(std::move(*opened), version));
  const std::string suffix = "_" + std::to_string(version.major) + "_" + std::to_string(version.minor);
  std::string missing;
#define CUBINET_RESOLVE(name, parameters)                                                              \
  api->name =                                                                                          \
      reinterpret_cast<int(*) parameters>(api->library_.find(("__nvJitLink" #name + suffix).c_str())); \
  if (api->name == nullptr && missing.empty()) missing = "__nvJitLink" #name + suffix;
  CUBINET_NVJITLINK_FUNCTIONS(CUBINET_RESOLVE)
#undef CUBINET_RESOLVE
  if (!missing.empty()) {
    return Error{ErrorCode::unavailable,
                 "'" + library.string() + "' has no function " + missing + ": it is no nvJitLink",
                 "install nvJitLink 12.0 or later"};
  }
  return std::shared_ptr<const NvJitLinkApi>(api);
}

}  // namespace cubinet
