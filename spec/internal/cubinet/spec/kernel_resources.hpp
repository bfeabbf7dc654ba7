// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

struct ArgumentPlace {
  std::uint32_t offset = 0;  // from the first argument
  std::uint32_t bytes = 0;
  friend bool operator==(const ArgumentPlace&, const ArgumentPlace&) = default;
};

// What an image states of one of its entry points. nullopt: it does not say.
struct KernelResources {
  using Extent = std::array<std::uint32_t, 3>;

  std::string name;
  std::optional<std::uint32_t> registers;    // of a thread
  std::optional<std::uint32_t> stack_bytes;  // of a thread: local arrays, and registers that were spilled
  std::optional<std::uint32_t>
      static_shared_bytes;               // of a block; from 9.0 up with the 1 KiB that the system takes
  std::uint32_t argument_bytes = 0;      // of all arguments
  std::vector<ArgumentPlace> arguments;  // by position
  std::optional<Extent> max_threads;     // of a block: the launch bound
  std::optional<Extent> required_threads;
  std::optional<Extent> cluster;                // in blocks, where it is fixed
  std::optional<std::uint32_t> minimum_blocks;  // on a multiprocessor: PTX alone states it
};

// One entry of .nv.compat.
struct CompatibilityNote {
  std::uint8_t tag = 0;
  Bytes value;
};

// One note of a cubin's SHT_NOTE sections.
struct ImageNote {
  std::string section;
  std::string owner;
  std::uint32_t type = 0;
  Bytes value;
};

// A variable that lies in a module, by its symbol.
struct ImageGlobal {
  std::string name;
  std::string_view space;              // "constant", "global" or "managed"
  std::optional<std::uint64_t> bytes;  // nullopt: the image does not say
};

struct CubinReport {
  std::vector<KernelResources> kernels;  // in the order of inspect_cubin()
  std::vector<ImageGlobal> globals;      // in the order of the symbols
  std::vector<CompatibilityNote> compatibility;
  std::vector<ImageNote> notes;
};

// What a cubin states of its kernels beside their names, and its notes. corruption for what is no well-formed
// cubin, one whose attributes or notes do not lie in their sections included.
Result<CubinReport> report_cubin(ByteView image);

// What PTX states of its kernels; registers, stack and shared memory are the assembler's to find. REQUIRES:
// inspect_ptx() has taken the image.
Result<std::vector<KernelResources>> ptx_resources(ByteView image);

// The variables of a PTX module. REQUIRES: as before.
std::vector<ImageGlobal> ptx_globals(ByteView image);

}  // namespace cubinet
