// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "verb_table.hpp"

#include <string>
#include <string_view>

namespace cubinet::cli {

// Returns cubinet(1) in the man macros of roff: the verbs and options of the table with their
// descriptions, notes and examples.
std::string manual_page(const VerbTable& table, std::string_view version);

}  // namespace cubinet::cli
