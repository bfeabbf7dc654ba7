// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/json_object.hpp>
#include <cubinet/sources/source_manifest.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

// Read members of a manifest's object, all of which must be there except read_texts(), whose list
// may be missing. Return invalid_argument for another type and for a value out of range.
Result<std::vector<std::string>> read_texts(JsonObject& object, std::string_view member);
Result<std::array<std::uint32_t, 3>> read_extents(JsonObject& object, std::string_view member);
Result<std::uint32_t> read_bytes(JsonObject& object, std::string_view member);
Result<SmTarget> read_target(JsonObject& object, std::string_view member);
// Reads the members "path" and "sha256".
Result<SourceFile> read_listed_file(JsonObject& object);

}  // namespace cubinet
