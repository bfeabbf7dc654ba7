// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "context.hpp"

#include <cubinet/cubin_registry/imports.hpp>

#include <nlohmann/json.hpp>

#include <cstdint>

namespace cubinet::cli {

nlohmann::json describe(const ImportSummary& import);

// Prints every import of the home, or the one of that number with its functions; 0 is all. Status 1 when
// there is none of the number.
Result<ExitStatus> list_imports(const Context& context, Home& home, std::uint64_t number);

}  // namespace cubinet::cli
