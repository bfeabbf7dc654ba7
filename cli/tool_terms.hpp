// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace cubinet::cli {

// Returns the text with the library's API names replaced by the tool's options and commands:
// "`AttentionProblem::batch` is 0" becomes "--batch is 0". The messages of the library write API
// names in backticks; other text is returned as it is.
std::string in_tool_terms(std::string_view text);

}  // namespace cubinet::cli
