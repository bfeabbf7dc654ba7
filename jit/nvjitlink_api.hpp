// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nvrtc_api.hpp"

#include <cstdint>

namespace cubinet {

using NvJitLinkHandle = void*;
inline constexpr int kNvJitLinkSuccess = 0;

// The functions of nvJitLink that are called, unchanged since CUDA 12.0. Each release exports them
// with its version in the name ("__nvJitLinkCreate_13_5"), as its header calls them. The prototypes
// are repeated here so that building needs only NVRTC's header.
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

// nvJitLink, opened at run time. Thread-safe on different handles, as nvJitLink is.
class NvJitLinkApi {
 public:
  // Opens a library. `version` is linker_version() of the file. Returns unavailable if it cannot be
  // opened or lacks a function.
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
