// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "local/sqlite.hpp"

#include <cstdint>

namespace cubinet {

inline constexpr std::int64_t kIndexApplicationId = 0x43424e54;  // "CBNT"
// Version history: 4 (2026-11) entries by name, no imports; no earlier one was released.
// docs/formats/registry.md
inline constexpr std::int64_t kIndexSchemaVersion = 4;

// The content of a database that is opened as an index.
enum class IndexSchema { empty, current };
// Returns the content. Errors: corruption for a database of another program, and for one whose
// tables do not match its version; unsupported for a newer schema. A newer schema must state its
// version twice and with a checksum.
Result<IndexSchema> inspect_schema(sqlite::Database& database);

// REQUIRES: a write transaction, and that it is empty.
Result<void> create_index_schema(sqlite::Database& database);

}  // namespace cubinet
