// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace cubinet::nvcc {

// Returns the text with the library's API names replaced by the options and variables of
// cubinet-nvcc: "`CompileOptions::include_directories`" becomes "-I". Messages write API names in
// backticks; other text is returned as it is.
std::string in_nvcc_terms(std::string_view text);

}  // namespace cubinet::nvcc
