// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "file_check.hpp"
#include "folder_plan.hpp"

#include <cubinet/artifacts/artifact_import.hpp>

namespace cubinet {

// Holds what a folder's metadata says against what its files are. What agrees is the answer; everything else
// is a finding in `counts`, whose other members are filled in too. `plan` is used up.
// REQUIRES: check.complete.
ArtifactImport judge(const std::filesystem::path& folder, FolderPlan plan, const FolderCheck& check,
                     ArtifactCounts& counts);

}  // namespace cubinet
