// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cubinet::stub {

struct Parameter {
  std::uint32_t offset = 0;
  std::uint32_t size = 0;
};

struct KernelImage {
  std::string name;
  std::vector<Parameter> parameters;
  std::uint32_t static_shared_bytes = 0;
  std::uint32_t maximum_threads = 1024;
};

struct GlobalImage {
  std::string name;
  std::vector<std::uint8_t> content;  // the initial value
  bool managed = false;
};

struct CubinImage {
  int sm = 0;             // 90
  bool specific = false;  // built for sm_90a and similar targets
  std::vector<KernelImage> kernels;
  std::vector<GlobalImage> globals;

  bool ptx = false;  // compiled when it is loaded, so that later devices run it too

  bool runs_on(int major, int minor) const {
    if (ptx && !specific) return sm <= major * 10 + minor;
    return sm / 10 == major && (specific ? sm % 10 == minor : sm % 10 <= minor);
  }
};

// Reads a cubin in place, as cuLibraryLoadData must: its size is unknown except for what its ELF
// header states. It does not use the project's own ELF reader, so that it does not hide an error of
// that reader. Returns nullopt if it is not a cubin.
std::optional<CubinImage> read_cubin(const void* image);
// Reads PTX text in the same manner. Returns nullopt if it is not PTX.
std::optional<CubinImage> read_ptx(const void* image);

}  // namespace cubinet::stub
