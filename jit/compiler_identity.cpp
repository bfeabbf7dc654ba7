// SPDX-License-Identifier: Apache-2.0
#include "compiler_identity.hpp"

#include "compiler_search.hpp"

#include <cubinet/base/elf.hpp>
#include <cubinet/base/mapped_file.hpp>
#include <cubinet/base/sha256.hpp>

namespace cubinet {
namespace {

std::string identity_of(const CompilerCandidate& candidate, const std::string& library,
                        const std::string& builtins) {
  std::string text = "NVRTC ";
  if (const auto version = version_by_file_name(candidate)) {
    text += version->to_string() + ", ";
  }
  return text + "build " + library + "+" + builtins;
}

}  // namespace

Result<std::string> build_of_library(const std::filesystem::path& library) {
  CUBINET_TRY_ASSIGN(const MappedFile file, MappedFile::open(library));
  auto elf = ElfImage::parse(file.content());
  if (!elf) {
    return Error{ErrorCode::unavailable,
                 "'" + library.string() + "' is no shared library: " + elf.error().message,
                 "install it again, or name another library"};
  }
  auto build_id = elf_build_id(*elf);
  if (build_id && *build_id && !(*build_id)->empty()) return to_hex(**build_id);
  // The builtins of CUDA 12.0 have no build-id.
  return "sha256:" + sha256(file.content()).to_hex();
}

Result<std::string> build_of_loaded(const DynamicLibrary& library) {
  const auto build_id = library.build_id();
  if (build_id && !build_id->empty()) return to_hex(*build_id);
  return build_of_library(library.path());
}

Result<std::string> compiler_identity(const CompilerCandidate& candidate) {
  CUBINET_TRY_ASSIGN(const std::string library, build_of_library(candidate.library));
  CUBINET_TRY_ASSIGN(const std::string builtins, build_of_library(candidate.builtins));
  return identity_of(candidate, library, builtins);
}

Result<std::string> loaded_identity(const CompilerCandidate& candidate, const DynamicLibrary& library,
                                    const DynamicLibrary& builtins) {
  CUBINET_TRY_ASSIGN(const std::string library_build, build_of_loaded(library));
  CUBINET_TRY_ASSIGN(const std::string builtins_build, build_of_loaded(builtins));
  return identity_of(candidate, library_build, builtins_build);
}

}  // namespace cubinet
