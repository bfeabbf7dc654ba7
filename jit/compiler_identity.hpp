// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nvrtc_api.hpp"

#include <cubinet/jit/compiler.hpp>

namespace cubinet {

// Names the build of a compiler by its files' contents, without loading them (which costs 100 ms and more):
// the GNU build-ids of libnvrtc and its builtins, or the SHA-256 of a file that has none. The same for the
// same files wherever they lie.
Result<std::string> compiler_identity(const CompilerCandidate& candidate);

// The same of the libraries as they are in memory: the files may have been replaced since they were read, and
// what the process had loaded before stays.
Result<std::string> loaded_identity(const CompilerCandidate& candidate, const DynamicLibrary& library,
                                    const DynamicLibrary& builtins);

// Of one library, by its file and as it is in memory: its build-id, or "sha256:" and the digest of its file.
Result<std::string> build_of_library(const std::filesystem::path& library);
Result<std::string> build_of_loaded(const DynamicLibrary& library);

}  // namespace cubinet
