// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>

namespace cubinet {

// The verified pages that were read last, by offset. Limited in number and in bytes, but a single
// page may exceed the limit of bytes. Thread-safe.
class PageCache {
 public:
  static constexpr std::size_t kMostPages = 32;
  static constexpr std::size_t kMostBytes = std::size_t{4} << 20;

  // Returns nullptr if the page is not cached.
  std::shared_ptr<const Bytes> find(std::uint64_t offset);
  void keep(std::uint64_t offset, std::shared_ptr<const Bytes> page);

 private:
  struct Kept {
    std::uint64_t offset;
    std::shared_ptr<const Bytes> page;
  };

  std::mutex mutex_;
  std::list<Kept> pages_;  // most recently used first
  std::size_t bytes_ = 0;
};

}  // namespace cubinet
