// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bundle/bundle_root.hpp"

#include <cubinet/base/bytes.hpp>

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>

namespace cubinet {

// The pages that were read last and proved right. Holds at most so many, and at most so many bytes unless
// one page alone has more. Thread-safe.
class PageCache {
 public:
  static constexpr std::size_t kMostPages = 32;
  static constexpr std::size_t kMostBytes = std::size_t{4} << 20;

  // nullptr: it is not there.
  std::shared_ptr<const Bytes> find(BundleTable table, std::size_t index);
  void keep(BundleTable table, std::size_t index, std::shared_ptr<const Bytes> page);

 private:
  struct Kept {
    BundleTable table;
    std::size_t index;
    std::shared_ptr<const Bytes> page;
  };

  std::mutex mutex_;
  std::list<Kept> pages_;  // the one that was asked for last in front
  std::size_t bytes_ = 0;
};

}  // namespace cubinet
