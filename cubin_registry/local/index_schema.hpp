// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "local/sqlite.hpp"

#include <cstdint>

namespace cubinet {

inline constexpr std::int64_t kIndexApplicationId = 0x43424e54;  // "CBNT"
// Version history: 4 (2026-11) entries by name, no imports; no earlier one was released.
// docs/formats/registry.md
inline constexpr std::int64_t kIndexSchemaVersion = 4;

// What a database holds that is opened as an index.
enum class IndexSchema { empty, current };
// corruption for another program's database, and for one whose tables are not those of its version;
// unsupported for a newer schema: one that says of itself, twice and with a checksum, that it is.
Result<IndexSchema> inspect_schema(sqlite::Database& database);

// REQUIRES: a write transaction, and that it is empty.
Result<void> create_index_schema(sqlite::Database& database);

}  // namespace cubinet
