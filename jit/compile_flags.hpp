// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nvrtc_api.hpp"

#include <cubinet/jit/compiler.hpp>

namespace cubinet {

// Returns the flags that determine the code. They are the same for every NVRTC and are part of the
// fingerprint and of the record.
std::vector<std::string> code_flags(SmTarget target, ImageKind kind, const CompilerOptions& options);
inline std::vector<std::string> code_flags(const CompileRequest& request) {
  return code_flags(request.target, request.kind, request.spec.options);
}

// Returns all flags for one NVRTC: code_flags(), and flags that do not affect the code. `texts` is
// the digest of the source and its headers.
std::vector<std::string> compile_flags(const CompileRequest& request, NvrtcVersion version,
                                       const Sha256Digest& texts);

// Return whether code compiled with these options must be linked, and whether it is optimised at
// link time.
bool needs_link(const CompilerOptions& options);
bool optimises_at_link(const CompilerOptions& options);

// Returns the linker's flags: the target, and the options that apply to linking.
std::vector<std::string> link_flags(SmTarget target, ImageKind kind, const CompilerOptions& options);

// Returns the targets, with suffixes, for the architectures that a compiler of this release lists
// (nvrtcGetSupportedArchs: 75, 90, 100 …).
std::vector<SmTarget> targets_of(const std::vector<int>& architectures, NvrtcVersion version);

}  // namespace cubinet
