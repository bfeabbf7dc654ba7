// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "local/file_store.hpp"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace cubinet {

// The result of one pass over all records and images.
struct Survey {
  std::map<std::string, StoredRecord> records;  // by entry name
  std::set<Sha256Digest> named;                 // images that some record names
  std::vector<StoreFinding> damaged;            // permanently damaged
  // Unreadable at the moment or by this build. While there are any, `named` may be incomplete.
  std::vector<StoreFinding> unreadable;
};
Result<Survey> survey_records(const FileStore& store);

}  // namespace cubinet
