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

// The import of the folder that is in the store, if any.
Result<std::optional<ImportSummary>> earlier_import(const std::filesystem::path& folder, Imports& imports);

// Why an earlier import must stay: what is there now could not be seen in whole. A disk that fails for a
// moment, or a header that was lost, says nothing about the kernels that were found before.
//
// The paths of what could not be read (cubins, the list, headers, folders within), and, where the earlier
// import has rows, of the headers that they came from and that are lost. Empty: the new import replaces the
// earlier one. A lost header that nobody lists is reported here as missing.
std::vector<std::filesystem::path> reasons_to_keep(const ImportSummary& earlier, const ArtifactFolder& folder,
                                                   const FolderPlan& plan, const FolderCheck& check,
                                                   std::span<const UnreadableFolder> unreadable,
                                                   FindingSink& findings);

// Says in the findings of these paths that the earlier import stays.
void say_that_it_stays(std::span<const std::filesystem::path> paths, ArtifactCounts& counts);

// What is in is what was in.
void count_earlier(const ImportSummary& earlier, ArtifactCounts& counts);

}  // namespace cubinet
