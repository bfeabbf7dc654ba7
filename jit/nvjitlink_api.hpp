// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nvrtc_api.hpp"

#include <cstdint>

namespace cubinet {

using NvJitLinkHandle = void*;
inline constexpr int kNvJitLinkSuccess = 0;

// Every function of nvJitLink that is called, as CUDA 12.0 introduced it and every release has kept it. Each
// release exports them under its own version ("__nvJitLinkCreate_13_5"), which is what its header calls. The
// prototypes stand here so that nothing but NVRTC's header is needed to build.
#define CUBINET_NVJITLINK_FUNCTIONS(X)                                                                 \
  X(Create, (NvJitLinkHandle * handle, std::uint32_t count, const char* const* options))               \
  X(Destroy, (NvJitLinkHandle * handle))                                                               \
  X(AddData, (NvJitLinkHandle handle, int kind, const void* data, std::size_t size, const char* name)) \
  X(Complete, (NvJitLinkHandle handle))                                                                \
  X(GetLinkedCubinSize, (NvJitLinkHandle handle, std::size_t * size))                                  \
  X(GetLinkedCubin, (NvJitLinkHandle handle, void* cubin))                                             \
  X(GetLinkedPtxSize, (NvJitLinkHandle handle, std::size_t * size))                                    \
  X(GetLinkedPtx, (NvJitLinkHandle handle, char* ptx))                                                 \
  X(GetErrorLogSize, (NvJitLinkHandle handle, std::size_t * size))                                     \
  X(GetErrorLog, (NvJitLinkHandle handle, char* log))                                                  \
  X(GetInfoLogSize, (NvJitLinkHandle handle, std::size_t * size))                                      \
  X(GetInfoLog, (NvJitLinkHandle handle, char* log))

// nvJitLink opened at run time. Thread-safe, as nvJitLink is on different handles.
class NvJitLinkApi {
 public:
  // `version` is that of the file (linker_version()). unavailable when it cannot be opened or lacks a
  // function.
  static Result<std::shared_ptr<const NvJitLinkApi>> open(const std::filesystem::path& library,
                                                          NvrtcVersion version);

  NvrtcVersion version() const { return version_; }
  const DynamicLibrary& library() const { return library_; }

#define CUBINET_DECLARE(name, parameters) int(*name) parameters = nullptr;
  CUBINET_NVJITLINK_FUNCTIONS(CUBINET_DECLARE)
#undef CUBINET_DECLARE

 private:
  NvJitLinkApi(DynamicLibrary library, NvrtcVersion version)
      : library_(std::move(library)), version_(version) {}

  DynamicLibrary library_;
  NvrtcVersion version_;
};

}  // namespace cubinet
