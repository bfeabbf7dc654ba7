// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet::nvcc {

// An option of cubinet-nvcc that nvcc does not have. It is the first word of its line.
struct OwnOption {
  std::string_view name;
  std::string_view value;  // empty: none
  std::string_view meaning;
};
const std::vector<OwnOption>& own_options();

inline constexpr std::string_view kPassedOption = "--cubinet-passed";

// Returns the text that a line of an own option prints, except that of kPassedOption: the help, the
// manual page or a completion script. Returns nullopt for a line of nvcc, and invalid_argument for
// an own option that does not exist or has another number of values.
Result<std::optional<std::string>> own_page(const std::vector<std::string>& arguments);

}  // namespace cubinet::nvcc
