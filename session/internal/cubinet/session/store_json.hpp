// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/runtime.hpp>

#include <nlohmann/json.hpp>

namespace cubinet {

// Returns the stores of a Runtime in their order: what each is, where, and how it was used.
nlohmann::json describe_stores(const Runtime& runtime);

}  // namespace cubinet
