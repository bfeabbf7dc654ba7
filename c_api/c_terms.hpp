// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace cubinet::c_api {

// Returns a message or a remedy of the library with the C header's names of what it refers to, such
// as `problem.page_size` for `AttentionProblem::tokens_per_page`.
std::string in_c_terms(std::string text);

}  // namespace cubinet::c_api
