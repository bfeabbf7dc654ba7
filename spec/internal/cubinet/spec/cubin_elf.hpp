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

// What a cubin's ELF says of itself.
struct CubinInspection {
  ComputeCapability capability;
  // The kind of target, where the file tells it: `.nv.compat` (CUDA 13) or e_flags (CUDA 12.x) mark `a`, and
  // the toolkit note's -arch text names the suffix. nullopt when no place speaks.
  std::optional<TargetKind> kind;
  // The file says that it is not specific, whether or not it tells baseline from family.
  bool excludes_specific = false;
  std::vector<std::string> kernels;  // symbols of the entry functions, in the symbol table's order
  // Of each kernel, the bytes of its one argument; 0 where it takes none or several, or the file does not
  // say.
  std::vector<std::uint32_t> argument_bytes;

  std::string target_name() const;  // "sm_90a", or "sm_100?" when the suffix cannot be told
};

// Reads the ELF of a cubin. Any bytes give an inspection or an error: corruption for what is not a
// well-formed CUDA ELF image (empty, truncated, another machine), never a crash.
Result<CubinInspection> inspect_cubin(ByteView image);

// Of which CUDA the tools were that made a cubin, "13.5"; empty where the file does not say.
std::string release_of_cubin(ByteView image);

// Whether the file contradicts the target that its metadata states.
bool contradicts(const CubinInspection& inspection, SmTarget stated);

// By kernel the bytes of its only argument, where the file says for certain that it has no other; 0
// otherwise.
using OnlyArguments = std::vector<std::uint32_t>;

// REQUIRES: `image` is verified. Checks that it is a cubin for `stated` and holds every symbol of `symbols`;
// corruption that names the difference otherwise. The driver does neither: it "loads" a foreign cubin as a
// library of no kernels. Tells the symbols' `arguments` besides, for the file is open here; none where they
// are many.
Result<void> check_cubin(ByteView image, SmTarget stated, const std::vector<std::string_view>& symbols,
                         OnlyArguments* arguments = nullptr);

}  // namespace cubinet
