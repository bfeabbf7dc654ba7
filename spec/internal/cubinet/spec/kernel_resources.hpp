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

// The resources that an image states for one of its entry points. nullopt if it does not state
// them.
struct KernelResources {
  using Extent = std::array<std::uint32_t, 3>;

  std::string name;
  std::optional<std::uint32_t> registers;    // per thread
  std::optional<std::uint32_t> stack_bytes;  // per thread: local arrays and spilled registers
  // Per block; from 9.0 up it includes the 1 KiB that the system reserves.
  std::optional<std::uint32_t> static_shared_bytes;
  std::uint32_t argument_bytes = 0;      // of all arguments
  std::vector<ArgumentPlace> arguments;  // by position
  std::optional<Extent> max_threads;     // per block: the launch bound
  std::optional<Extent> required_threads;
  std::optional<Extent> cluster;                // in blocks, if it is fixed
  std::optional<std::uint32_t> minimum_blocks;  // per SM; only PTX states it
};

// An entry of .nv.compat.
struct CompatibilityNote {
  std::uint8_t tag = 0;
  Bytes value;
};

// A note of a cubin's SHT_NOTE sections.
struct ImageNote {
  std::string section;
  std::string owner;
  std::uint32_t type = 0;
  Bytes value;
};

// A variable of a module.
struct ImageGlobal {
  std::string name;
  std::string_view space;              // "constant", "global" or "managed"
  std::optional<std::uint64_t> bytes;  // nullopt if the image does not state it
};

struct CubinReport {
  std::vector<KernelResources> kernels;  // in the order of inspect_cubin()
  std::vector<ImageGlobal> globals;      // in the order of the symbols
  std::vector<CompatibilityNote> compatibility;
  std::vector<ImageNote> notes;
};

// Returns the resources of a cubin's kernels, its variables and its notes. Returns corruption if
// the cubin is malformed, also if attributes or notes exceed their sections.
Result<CubinReport> report_cubin(ByteView image);

// Returns the resources that PTX states for its kernels. It states no registers, stack or shared
// memory, which the assembler determines. REQUIRES: inspect_ptx() has accepted the image.
Result<std::vector<KernelResources>> ptx_resources(ByteView image);

// Returns the variables of a PTX module. REQUIRES: inspect_ptx() has accepted the image.
std::vector<ImageGlobal> ptx_globals(ByteView image);

}  // namespace cubinet
