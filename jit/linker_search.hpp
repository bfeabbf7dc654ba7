// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nvrtc_api.hpp"

#include <cubinet/jit/compiler.hpp>

namespace cubinet {

// Returns the folders that find_linker() searches, in its order: the compiler's, then those of the
// search.
std::vector<std::filesystem::path> linker_folders(const CompilerCandidate& compiler,
                                                  const CompilerSearch& search);

// Returns the linker in these folders only, as find_linker() does.
Result<LinkerCandidate> linker_in(const CompilerCandidate& compiler,
                                  const std::vector<std::filesystem::path>& folders);

// Returns the release of the nvJitLink in this file: the newest whose functions it exports
// ("__nvJitLinkCreate_13_5"). The file's name does not contain it. Returns nullopt for other files.
std::optional<NvrtcVersion> linker_version(const std::filesystem::path& library);

}  // namespace cubinet
