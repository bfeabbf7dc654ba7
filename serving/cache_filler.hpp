// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/adoption/cache_watch.hpp>
#include <cubinet/base/log.hpp>
#include <cubinet/cubin_registry/store.hpp>
#include <cubinet/serving/serve_warm.hpp>
#include <cubinet/spec/sm_target.hpp>

#include <memory>
#include <vector>

namespace cubinet {

// Puts the entries of stores into caches. Failures are logged and skipped.
class CacheFiller {
 public:
  CacheFiller(std::vector<ComputeCapability> devices, LogSink log)
      : devices_(std::move(devices)), log_(std::move(log)) {}

  // Puts the entries for the devices into a cache, from the first store that has each, and adds
  // them to the report. Returns the entries that the cache has now.
  std::vector<std::string> fill(const ToolCache& cache, const std::vector<std::shared_ptr<Store>>& stores,
                                ServeWarmReport& report) const;

 private:
  std::vector<ComputeCapability> devices_;
  LogSink log_;
};

}  // namespace cubinet
