// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/json_value.hpp>

#include <string>

namespace cubinet {

// Returns the file that the member "base" of a declaration names, empty if it has none.
// invalid_argument, with the line in `native`, if the member is no name of a JSON file beside the
// declaration.
Result<std::string> base_name_of(const JsonValue& declaration);

// Returns a declaration with what its base adds: the base's parameters before its own, the base's
// constraints after its own, and the base's cells of the row. A parameter or cell of the
// declaration replaces that of the base of the same name, a parameter member by member. Values keep
// their lines.
Result<JsonValue> extended_declaration(const JsonValue& declaration, const JsonValue& base);

}  // namespace cubinet
