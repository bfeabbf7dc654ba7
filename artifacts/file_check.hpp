// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "folder_plan.hpp"

#include <cubinet/artifacts/artifact_import.hpp>
#include <cubinet/cubin_registry/imports.hpp>

#include <optional>
#include <vector>

namespace cubinet {

// The result of checking one file.
struct FileCheck {
  // False after a cancelled run, and for a file that is not opened.
  bool done = false;
  bool read = false;           // if false, the facts are those of an earlier import
  std::optional<Error> error;  // the read error
  // The file was read and is not a valid cubin. Its digest is valid.
  std::optional<Error> not_cubin;
  VerifiedFile file;
};

// Reads every file that is_checked(): computes the digest and parses the ELF of cubins from the
// same bytes. Recalls unchanged files from the store. The result is in the order of plan.files.
// Incomplete if cancelled.
struct FolderCheck {
  std::vector<FileCheck> files;
  bool complete = true;
};
Result<FolderCheck> check_files(const std::filesystem::path& folder, const FolderPlan& plan,
                                const ArtifactImportOptions& options, Imports& imports);

// Runs the work with options.run or its default.
void run_batches(const ArtifactImportOptions& options, const std::filesystem::path& folder, std::size_t count,
                 const std::function<std::string(std::size_t)>& work);

}  // namespace cubinet
