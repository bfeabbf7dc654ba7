// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/dynamic_library.hpp>

#include <nvrtc.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace cubinet {

// The functions of NVRTC that are called, and the CUDA version that introduced each. None is newer
// than 12.0, the oldest supported NVRTC, so a library without one of them is broken.
#define CUBINET_NVRTC_FUNCTIONS(X)    \
  X(nvrtcVersion, 7, 0)               \
  X(nvrtcGetErrorString, 7, 0)        \
  X(nvrtcCreateProgram, 7, 0)         \
  X(nvrtcDestroyProgram, 7, 0)        \
  X(nvrtcCompileProgram, 7, 0)        \
  X(nvrtcGetPTXSize, 7, 0)            \
  X(nvrtcGetPTX, 7, 0)                \
  X(nvrtcGetProgramLogSize, 7, 0)     \
  X(nvrtcGetProgramLog, 7, 0)         \
  X(nvrtcAddNameExpression, 8, 0)     \
  X(nvrtcGetLoweredName, 8, 0)        \
  X(nvrtcGetCUBINSize, 11, 1)         \
  X(nvrtcGetCUBIN, 11, 1)             \
  X(nvrtcGetNumSupportedArchs, 11, 2) \
  X(nvrtcGetSupportedArchs, 11, 2)    \
  X(nvrtcGetLTOIRSize, 12, 0)         \
  X(nvrtcGetLTOIR, 12, 0)

inline constexpr int kOldestNvrtcMajor = 12;

struct NvrtcVersion {
  int major = 0;
  int minor = 0;

  std::string to_string() const { return std::to_string(major) + "." + std::to_string(minor); }  // "13.0"
  friend auto operator<=>(const NvrtcVersion&, const NvrtcVersion&) = default;
};

// Returns unavailable if the environment sets NV_NVVM_VERSION, the one variable that changes the
// code of NVRTC (13.0, 13.5): it selects the dialect of the intermediate code. Fingerprints do not
// cover the environment. NVRTC 13.0 reads the variable when it is loaded and remembers it.
Result<void> check_nvrtc_environment();

// NVRTC, opened at run time. Thread-safe on different programs, as NVRTC is.
class NvrtcApi {
 public:
  // Opens a library and, if given, its builtins, which NVRTC will then use. Returns unavailable if
  // the environment changes its code, or the library cannot be opened, lacks a function, or the
  // process already has other builtins of the release. Returns unsupported if it is older than
  // 12.0.
  static Result<std::shared_ptr<const NvrtcApi>> open(const std::filesystem::path& library,
                                                      const std::filesystem::path& builtins = {});

  // Loads a copy of this library, with locks of its own, that uses the same builtins. Returns
  // unavailable if it cannot be copied (DynamicLibrary::open_copy) or the environment changes its
  // code.
  Result<std::shared_ptr<const NvrtcApi>> copy() const;

  NvrtcVersion version() const { return version_; }
  const DynamicLibrary& library() const { return library_; }
  const std::optional<DynamicLibrary>& builtins() const { return builtins_; }  // nullopt: none were given

#define CUBINET_DECLARE(name, major, minor) decltype(&::name) name = nullptr;
  CUBINET_NVRTC_FUNCTIONS(CUBINET_DECLARE)
#undef CUBINET_DECLARE
  // nvrtcInstallBundledHeaders (13.3), which the headers of older CUDA releases do not declare;
  // nullptr if NVRTC lacks it.
  nvrtcResult (*install_bundled_headers)(const char* folder, unsigned flags, const char** log) = nullptr;

  // True when a compilation has succeeded. NVRTC changes no signal actions any more (NvrtcProgram).
  mutable std::atomic<bool> leaves_signals{false};

 private:
  NvrtcApi(DynamicLibrary library, std::optional<DynamicLibrary> builtins)
      : library_(std::move(library)), builtins_(std::move(builtins)) {}
  // Looks the functions up. Returns the name of the first missing one, or an empty string.
  std::string find_functions();
  Result<void> check_builtins() const;

  DynamicLibrary library_;
  std::optional<DynamicLibrary> builtins_;
  NvrtcVersion version_;
};

}  // namespace cubinet
