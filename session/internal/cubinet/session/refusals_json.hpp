// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/freeze.hpp>

#include <string>

namespace cubinet {

// Returns the JSON of the refusals of a frozen Runtime, as cubinet_runtime_refusals() documents it.
std::string to_json(const Refusals& refusals);

}  // namespace cubinet
