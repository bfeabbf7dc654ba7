// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "context.hpp"

#include <cubinet/kernel_table/kernel_row.hpp>

#include <string>
#include <vector>

namespace cubinet::cli {

// Rows with their conflicts resolved; rows that cannot be taken and conflicts are told on stderr.

// Of a published metadata header.
Result<std::vector<KernelRow>> rows_of_header(const Context& context, const std::string& file);
// Of the home: imported folders, bundles and what was compiled, as far as a Runtime here would use them. None
// where the home cannot be used.
Result<std::vector<KernelRow>> rows_of_home(const Context& context);

}  // namespace cubinet::cli
