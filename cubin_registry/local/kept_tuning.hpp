// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "local/file_store.hpp"

#include <cubinet/kernel_table/tuning_table.hpp>

namespace cubinet {

// What a home keeps of measurements: one file, written whole or not at all (docs/formats/tuning.md).

// Empty where there is none. corruption, unsupported or untrusted where it says nothing that could be
// believed.
Result<TuningTable> read_tuning(const FileStore& store);
// Merges the table with that of the file, of which one that is damaged for good is set aside. REQUIRES: the
// exclusive store lock.
Result<void> merge_tuning(FileStore& store, const TuningTable& table);

}  // namespace cubinet
