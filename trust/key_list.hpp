// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/json_object.hpp>
#include <cubinet/trust/public_key.hpp>

#include <string_view>
#include <vector>

namespace cubinet {

// Reads a member that is an array of 1 to 64 keys. Returns an error if a key occurs twice, whatever
// its ids are.
Result<std::vector<PublicKey>> read_keys(JsonObject& object, std::string_view member);

}  // namespace cubinet
