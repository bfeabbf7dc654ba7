// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cache_folder.hpp"

#include <string>

namespace cubinet {

// A subfolder of a tool's cache in which one writer prepares entries. No tool reads it. The writer
// holds the folder's lock as long as this object lives, and the kernel releases it if the writer is
// killed.
struct CacheStage {
  std::string name;
  CacheFolder folder;
};

// Creates a stage in a cache.
Result<CacheStage> make_cache_stage(const CacheFolder& cache);

// Removes the stages whose writers have ended. A stage without a lock, or of another machine that
// shares the folder, counts as such once it has not changed for an hour.
void remove_abandoned_stages(const CacheFolder& cache);

}  // namespace cubinet
