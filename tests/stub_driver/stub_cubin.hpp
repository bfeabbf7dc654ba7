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
  std::vector<std::uint8_t> content;  // what it begins with
  bool managed = false;
};

struct CubinImage {
  int sm = 0;             // 90
  bool specific = false;  // built for sm_90a and the like
  std::vector<KernelImage> kernels;
  std::vector<GlobalImage> globals;

  bool ptx = false;  // compiled when it is loaded, so that later devices run it too

  bool runs_on(int major, int minor) const {
    if (ptx && !specific) return sm <= major * 10 + minor;
    return sm / 10 == major && (specific ? sm % 10 == minor : sm % 10 <= minor);
  }
};

// Reads a cubin where it lies, as cuLibraryLoadData has to: its size is not known, only what its ELF header
// claims. Not written with the project's own ELF reader, so that an error in that one does not hide here.
// nullopt: not a cubin.
std::optional<CubinImage> read_cubin(const void* image);
// The same of PTX text. nullopt: not PTX.
std::optional<CubinImage> read_ptx(const void* image);

}  // namespace cubinet::stub
