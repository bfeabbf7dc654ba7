// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nvrtc_api.hpp"

#include <cubinet/jit/compiler.hpp>

#include <filesystem>

namespace cubinet {

// A folder that is searched, and the reason.
struct CompilerPlace {
  CompilerCandidate::Source source;
  std::filesystem::path folder;
};

// Returns the compilers in these places only, as find_compilers() does.
std::vector<CompilerCandidate> compilers_in(const std::vector<CompilerPlace>& places);

// Returns the release in a candidate's file names: of the builtins ("libnvrtc-builtins.so.13.0"),
// otherwise of the library. Returns nullopt if neither name contains it.
std::optional<NvrtcVersion> version_by_file_name(const CompilerCandidate& candidate);

// Returns the header folders of this compiler: of its toolkit, or of the wheels beside its own.
std::vector<std::string> header_folders(const CompilerCandidate& candidate);
// Returns whether these folders have a toolkit's headers and CCCL's.
bool are_complete(const std::vector<std::string>& header_folders);

// Returns the folders of this compiler's device libraries (libcudadevrt.a): beside it, or in the
// wheels beside its own.
std::vector<std::string> library_folders(const CompilerCandidate& candidate);

}  // namespace cubinet
