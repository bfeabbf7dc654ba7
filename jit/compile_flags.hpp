// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nvrtc_api.hpp"

#include <cubinet/jit/compiler.hpp>

namespace cubinet {

// The flags that decide what code comes out, the same for every NVRTC: part of the fingerprint and of the
// record.
std::vector<std::string> code_flags(SmTarget target, ImageKind kind, const CompilerOptions& options);
inline std::vector<std::string> code_flags(const CompileRequest& request) {
  return code_flags(request.target, request.kind, request.spec.options);
}

// All flags for one NVRTC: the former, and those that only say how it works. `texts` is the digest of the
// source and its headers.
std::vector<std::string> compile_flags(const CompileRequest& request, NvrtcVersion version,
                                       const Sha256Digest& texts);

// Whether what these options make has to be linked, and whether it is optimised only then.
bool needs_link(const CompilerOptions& options);
bool optimises_at_link(const CompilerOptions& options);

// What the linker is told: the target, and what of the options is its to do.
std::vector<std::string> link_flags(SmTarget target, ImageKind kind, const CompilerOptions& options);

// What compilers of the given release list (nvrtcGetSupportedArchs: 75, 90, 100 …) can build, suffixes
// included.
std::vector<SmTarget> targets_of(const std::vector<int>& architectures, NvrtcVersion version);

}  // namespace cubinet
