// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nvrtc_api.hpp"

#include <cubinet/jit/compiler.hpp>

#include <filesystem>

namespace cubinet {

// A folder that is looked into, and why.
struct CompilerPlace {
  CompilerCandidate::Source source;
  std::filesystem::path folder;
};

// find_compilers() over these places and no others.
std::vector<CompilerCandidate> compilers_in(const std::vector<CompilerPlace>& places);

// The release that the file names of a candidate tell: that of the builtins ("libnvrtc-builtins.so.13.0"), or
// of the library; nullopt when neither does.
std::optional<NvrtcVersion> version_by_file_name(const CompilerCandidate& candidate);

// Where the headers lie that belong to this compiler: those of its toolkit, or of the wheels beside its own.
std::vector<std::string> header_folders(const CompilerCandidate& candidate);
// Whether these hold a toolkit's headers and CCCL's.
bool are_complete(const std::vector<std::string>& header_folders);

// Where device libraries lie that belong to this compiler (libcudadevrt.a): beside it, or in the wheels
// beside its own.
std::vector<std::string> library_folders(const CompilerCandidate& candidate);

}  // namespace cubinet
