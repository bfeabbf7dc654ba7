// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "context.hpp"
#include "interrupt.hpp"

#include <cubinet/artifacts/artifact_import.hpp>

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace cubinet::cli {

// Returns an ArtifactImportOptions::run that works with `threads` threads, shows its progress and
// stops when it is interrupted. `context` and `interrupt` must outlive it.
using ArtifactRun = std::function<void(const std::filesystem::path& folder, std::size_t count,
                                       const std::function<std::string(std::size_t)>& work)>;
ArtifactRun artifact_run(const Context& context, const InterruptGuard& interrupt, unsigned threads);

// Prints "kind: folder/name: reason" for the first findings, at most `limit`, and the number of
// further ones.
void print(Console& console, std::string_view kind, const ArtifactFindings& findings,
           std::size_t limit = kMaximumListedFindings);

// Prints the document and the error of an interrupted verb, and ends the process by the signal.
[[noreturn]] void end_interrupted(Console& console, const InterruptGuard& interrupt,
                                  std::string_view document, const Error& error);

}  // namespace cubinet::cli
