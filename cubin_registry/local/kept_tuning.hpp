// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "local/file_store.hpp"

#include <cubinet/kernel_table/tuning_table.hpp>

namespace cubinet {

// The measurements of a home: one file, written atomically (docs/formats/tuning.md).

// Returns an empty table if there is no file. Returns corruption, unsupported or untrusted if the
// file cannot be used.
Result<TuningTable> read_tuning(const FileStore& store);
// Merges the table with the file's. Quarantines a damaged file. REQUIRES: the exclusive store lock.
Result<void> merge_tuning(FileStore& store, const TuningTable& table);

}  // namespace cubinet
