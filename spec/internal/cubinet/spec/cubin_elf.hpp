// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>
#include <cubinet/spec/sm_target.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

// The statements of a cubin's ELF about itself.
struct CubinInspection {
  ComputeCapability capability;
  // The kind of target, if the file states it. `.nv.compat` (CUDA 13) or e_flags (CUDA 12.x) mark
  // `a`, and the -arch text of the toolkit note names the suffix. nullopt if none of them states
  // it.
  std::optional<TargetKind> kind;
  // If true, the file states that it is not specific, whether or not it distinguishes baseline from
  // family.
  bool excludes_specific = false;
  std::vector<std::string> kernels;  // symbols of the entry functions, in the symbol table's order
  // The size of each kernel's one argument, in bytes. 0 if it has none or several, or if the file
  // does not state it.
  std::vector<std::uint32_t> argument_bytes;

  std::string target_name() const;  // "sm_90a", or "sm_100?" if the suffix is unknown
};

// Reads the ELF of a cubin. Any bytes give an inspection or an error, never a crash. Returns
// corruption if the bytes are not a well-formed CUDA ELF image (empty, truncated, another machine).
Result<CubinInspection> inspect_cubin(ByteView image);

// Returns the CUDA release of the tools that made a cubin, "13.5", or an empty text if the file
// does not state it.
std::string release_of_cubin(ByteView image);

// Returns whether the file contradicts the target that its metadata states.
bool contradicts(const CubinInspection& inspection, SmTarget stated);

// The size of each kernel's only argument, in bytes. 0 unless the file states for certain that
// there is no other argument.
using OnlyArguments = std::vector<std::uint32_t>;

// Checks that the image is a cubin for `stated` and holds every symbol of `symbols`. Returns a
// corruption error that names the difference otherwise. The driver checks neither: it "loads" a
// foreign cubin as a library without kernels. Also sets `arguments` to those of the symbols,
// because the file is open here. `arguments` stays empty if there are many symbols. REQUIRES:
// `image` is verified.
Result<void> check_cubin(ByteView image, SmTarget stated, const std::vector<std::string_view>& symbols,
                         OnlyArguments* arguments = nullptr);

}  // namespace cubinet
