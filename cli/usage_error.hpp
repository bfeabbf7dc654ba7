// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>

#include <CLI/App.hpp>

#include <string>
#include <vector>

namespace cubinet::cli {

// Returns the innermost verb that the parsed line names, or the root.
CLI::App& innermost_verb(CLI::App& root);

// Returns "cubinet bundle create" for the application of `create`.
std::string full_name(const CLI::App& app);

// Returns the verb below `root` that the words name, or the root itself for no words. The message
// of invalid_argument has the first word that is not a verb, and a verb with similar spelling.
Result<CLI::App*> find_verb(CLI::App& root, const std::vector<std::string>& words);

// Returns the error for a line that ends before a verb which is required.
Error missing_verb_error(CLI::App& root);

// Returns the error of a line that `root` could not parse. Unknown options come first. The remedy
// is the nearest option or verb, or `--flag=` for a flag of nvcc or NVRTC.
Error usage_error(CLI::App& root, const CLI::ParseError& error);

}  // namespace cubinet::cli
