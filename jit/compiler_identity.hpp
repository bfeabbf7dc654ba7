// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nvrtc_api.hpp"

#include <cubinet/jit/compiler.hpp>

namespace cubinet {

// Returns the identity of a compiler's build without loading it (100 ms and more): the GNU
// build-ids of libnvrtc and its builtins, or the SHA-256 of a file without a build-id. Equal files
// have equal identities in any folder.
Result<std::string> compiler_identity(const CompilerCandidate& candidate);

// Returns the identity of the libraries in memory. Their files may have been replaced, or the
// process may have loaded other builtins before.
Result<std::string> loaded_identity(const CompilerCandidate& candidate, const DynamicLibrary& library,
                                    const DynamicLibrary& builtins);

// Return the build of one library, from its file and from memory: its build-id, or "sha256:" and
// the digest of its file.
Result<std::string> build_of_library(const std::filesystem::path& library);
Result<std::string> build_of_loaded(const DynamicLibrary& library);

}  // namespace cubinet
