// SPDX-License-Identifier: Apache-2.0
#include "log_reading.hpp"

#include <array>
#include <string_view>

namespace cubinet {
namespace {

struct Words {
  std::string_view words;
  const char* remedy;
};
constexpr const char* kDeviceRuntime =
    "link with the library cudadevrt: a kernel that launches kernels needs CUDA's device runtime";
constexpr const char* kNameDefiner =
    "link with the source or the library that defines it, by naming that too";
// Phrases of NVRTC and nvJitLink 13.0 and 13.5. Symbols of the device runtime precede general ones.
constexpr std::array<Words, 9> kWords = {
    {{"device-side kernel launch", kDeviceRuntime},
     {"cudaCDP", kDeviceRuntime},
     {"cudaLaunchDevice", kDeviceRuntime},
     {"cudaGetParameterBuffer", kDeviceRuntime},
     {"Undefined reference", kNameDefiner},
     {"Unresolved extern", kNameDefiner},
     {"not allowed in JIT mode", "annotate it (__device__), or give the flag -default-device"},
     {"without LTO enabled", "link with -dlto"},
     {"multiply defined", "one definition is one too many: make others static or inline"}}};

}  // namespace

std::string first_error(const std::string& log) {
  std::size_t begin = log.find("error");
  if (begin == std::string::npos) begin = 0;
  begin = log.rfind('\n', begin) == std::string::npos ? 0 : log.rfind('\n', begin) + 1;
  return log.substr(begin, log.find('\n', begin) - begin);
}

std::string remedy_of_log(const std::string& log) {
  for (const Words& known : kWords) {
    if (log.find(known.words) != std::string::npos) return known.remedy;
  }
  return {};
}

}  // namespace cubinet
