// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "context.hpp"

#include <cubinet/cubin_registry/imports.hpp>

#include <nlohmann/json.hpp>

#include <cstdint>

namespace cubinet::cli {

nlohmann::json describe(const ImportSummary& import);

// Prints all imports of the home if `number` is 0, otherwise one import with its functions. A null
// `home` has no imports. Returns status 1 if there is no import of this number.
Result<ExitStatus> list_imports(const Context& context, Home* home, std::uint64_t number);

}  // namespace cubinet::cli
