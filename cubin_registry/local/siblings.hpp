// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "local/file_store.hpp"

#include <functional>
#include <span>
#include <vector>

namespace cubinet {

// The records of one build, the one that supersedes the others in front. There are several where a process
// died between writing a record and removing the one that it takes over, or where two published at once.
using Siblings = std::span<const StoredRecord>;

// Visits the records of each build, until `visit` fails. Puts them in another order.
Result<void> for_each_build(std::vector<StoredRecord>& stored,
                            const std::function<Result<void>(Siblings)>& visit);

// The place of the one that counts: the first whose image can be used, for one without an image must not hide
// one that has it. Where none has, the first. Images are read only where there is a choice.
std::size_t place_in_force(const FileStore& store, Siblings siblings);

// Of each build the record that counts.
std::vector<StoredRecord> in_force(const FileStore& store, std::vector<StoredRecord> stored);

}  // namespace cubinet
