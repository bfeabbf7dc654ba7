// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "file_check.hpp"
#include "folder_plan.hpp"

#include <cubinet/artifacts/artifact_import.hpp>

namespace cubinet {

// Compares a folder's metadata with its files. Returns the entries that agree. Everything else is a
// finding in `counts`, whose other members are filled in too. Consumes `plan`. REQUIRES:
// check.complete.
ArtifactImport judge(const std::filesystem::path& folder, FolderPlan plan, const FolderCheck& check,
                     ArtifactCounts& counts);

}  // namespace cubinet
