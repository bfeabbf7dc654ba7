// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nvrtc_api.hpp"

#include <cubinet/jit/compiler.hpp>

namespace cubinet {

// The folders in which find_linker() looks, in its order: that of the compiler, then those of the search.
std::vector<std::filesystem::path> linker_folders(const CompilerCandidate& compiler,
                                                  const CompilerSearch& search);

// find_linker() in these folders and no others.
Result<LinkerCandidate> linker_in(const CompilerCandidate& compiler,
                                  const std::vector<std::filesystem::path>& folders);

// The release of the nvJitLink in this file, which its name does not tell: the newest of which it has the
// functions ("__nvJitLinkCreate_13_5"). nullopt for what is no nvJitLink.
std::optional<NvrtcVersion> linker_version(const std::filesystem::path& library);

}  // namespace cubinet
