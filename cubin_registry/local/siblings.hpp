// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "local/file_store.hpp"

#include <functional>
#include <span>
#include <vector>

namespace cubinet {

// The records of one build, the one that supersedes the others first. There are several if a
// process died between writing a record and removing the one that it replaces, or if two processes
// published at once.
using Siblings = std::span<const StoredRecord>;

// Visits the records of each build, until `visit` fails. Reorders `stored`.
Result<void> for_each_build(std::vector<StoredRecord>& stored,
                            const std::function<Result<void>(Siblings)>& visit);

// Returns the index of the record in force: the first with a usable image, because a record without
// an image must not hide one with an image. If none has one, the first. Reads images only if there
// are several records.
std::size_t place_in_force(const FileStore& store, Siblings siblings);

// Returns the record in force of each build.
std::vector<StoredRecord> in_force(const FileStore& store, std::vector<StoredRecord> stored);

}  // namespace cubinet
