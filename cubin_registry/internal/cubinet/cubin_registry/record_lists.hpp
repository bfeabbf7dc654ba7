// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/cubin_registry/store.hpp>

#include <string_view>

namespace cubinet {

// Sorts records in the order of Store::list().
void sort_records(CubinRecords& records);
// Return the results of Store::find_key() and Store::find_function().
CubinRecords with_key(const CubinRecords& records, KernelKey key);
CubinRecords with_function(const CubinRecords& records, std::string_view name);
// Returns whether find_function() finds the record by this name.
bool answers_to(const CubinRecord& record, std::string_view name);

}  // namespace cubinet
