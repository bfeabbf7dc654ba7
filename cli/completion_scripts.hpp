// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "verb_table.hpp"

#include <string>

namespace cubinet::cli {

// Each returns a script that completes the tool's verbs, options, values of a fixed set, and file
// names. The scripts need only the shell.
std::string bash_completion(const VerbTable& table);
std::string zsh_completion(const VerbTable& table);
std::string fish_completion(const VerbTable& table);

}  // namespace cubinet::cli
