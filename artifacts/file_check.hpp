// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "folder_plan.hpp"

#include <cubinet/artifacts/artifact_import.hpp>
#include <cubinet/cubin_registry/imports.hpp>

#include <optional>
#include <vector>

namespace cubinet {

// What one file turned out to be.
struct FileCheck {
  bool done = false;               // false after a cancelled run, and for a file that is not to be opened
  bool read = false;               // now; otherwise its facts are those of an earlier import
  std::optional<Error> error;      // it could not be read
  std::optional<Error> not_cubin;  // it was read, and its ELF is not one; its digest stands
  VerifiedFile file;
};

// Reads every file that is_checked() (the digest and, of cubins, the ELF from the same bytes), or recalls it
// from the store where it is unchanged. The answer's order is that of plan.files. Not complete when
// cancelled.
struct FolderCheck {
  std::vector<FileCheck> files;
  bool complete = true;
};
Result<FolderCheck> check_files(const std::filesystem::path& folder, const FolderPlan& plan,
                                const ArtifactImportOptions& options, Imports& imports);

// options.run, or its default.
void run_pieces(const ArtifactImportOptions& options, const std::filesystem::path& folder, std::size_t count,
                const std::function<std::string(std::size_t)>& work);

}  // namespace cubinet
