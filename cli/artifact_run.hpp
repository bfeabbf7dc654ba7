// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "context.hpp"
#include "interrupt.hpp"

#include <cubinet/artifacts/artifact_import.hpp>

#include <nlohmann/json.hpp>

#include <filesystem>
#include <functional>
#include <string>

namespace cubinet::cli {

// What verbs over published folders share.

// As ArtifactImportOptions::run wants it: from so many threads, with progress, until interrupted. What it is
// given has to outlive it.
using ArtifactRun = std::function<void(const std::filesystem::path& folder, std::size_t count,
                                       const std::function<std::string(std::size_t)>& work)>;
ArtifactRun artifact_run(const Context& context, const InterruptGuard& interrupt, unsigned threads);

// {"count", "first": names, "details": [{"folder", "name", "reason"}]}
nlohmann::json describe(const ArtifactFindings& findings);
// Prints "kind: folder/name: reason" of the first, at most `limit` of them, and how many more there are.
void print(Console& console, std::string_view kind, const ArtifactFindings& findings,
           std::size_t limit = kMaximumListedFindings);

// Prints the document of an interrupted verb, with what `next` says of it, and ends the process as it was
// told to.
[[noreturn]] void end_interrupted(Console& console, const InterruptGuard& interrupt, nlohmann::json document,
                                  std::string message);

}  // namespace cubinet::cli
