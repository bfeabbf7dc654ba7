// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "local/file_store.hpp"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace cubinet {

// One pass over all records and images.
struct Survey {
  std::map<std::string, StoredRecord> records;  // by entry name
  std::set<Sha256Digest> named;                 // images that some record names
  std::vector<StoreFinding> damaged;            // for good
  std::vector<StoreFinding> unreadable;  // just now, or by this build: while there are any, more may be named
};
Result<Survey> survey_records(const FileStore& store);

}  // namespace cubinet
