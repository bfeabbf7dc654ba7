// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "file_check.hpp"
#include "folder_plan.hpp"

#include <cubinet/cubin_registry/imports.hpp>

#include <filesystem>
#include <optional>
#include <span>
#include <vector>

namespace cubinet {

// Returns the stored import of the folder, if any.
Result<std::optional<ImportSummary>> earlier_import(const std::filesystem::path& folder, Imports& imports);

// Returns the reasons why an earlier import must stay: the folder could not be read completely. A
// temporary disk failure or a lost header does not invalidate the kernels that were found before.
//
// The result contains the paths of everything that could not be read (cubins, the list, headers,
// folders) and, if the earlier import has rows, of their lost headers. Empty: the new import
// replaces the earlier one. A lost header that no list names is reported here as missing.
std::vector<std::filesystem::path> reasons_to_keep(const ImportSummary& earlier, const ArtifactFolder& folder,
                                                   const FolderPlan& plan, const FolderCheck& check,
                                                   std::span<const UnreadableFolder> unreadable,
                                                   FindingSink& findings);

// Notes in the findings of these paths that the earlier import stays.
void say_that_it_stays(std::span<const std::filesystem::path> paths, ArtifactCounts& counts);

// Sets the counts to those of the earlier import.
void count_earlier(const ImportSummary& earlier, ArtifactCounts& counts);

}  // namespace cubinet
