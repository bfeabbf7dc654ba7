// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>

namespace cubinet {

// The pages that were read last and proved right, by where they lie. Holds at most so many, and at most so
// many bytes unless one page alone has more. Thread-safe.
class PageCache {
 public:
  static constexpr std::size_t kMostPages = 32;
  static constexpr std::size_t kMostBytes = std::size_t{4} << 20;

  // nullptr: it is not there.
  std::shared_ptr<const Bytes> find(std::uint64_t offset);
  void keep(std::uint64_t offset, std::shared_ptr<const Bytes> page);

 private:
  struct Kept {
    std::uint64_t offset;
    std::shared_ptr<const Bytes> page;
  };

  std::mutex mutex_;
  std::list<Kept> pages_;  // the one that was asked for last in front
  std::size_t bytes_ = 0;
};

}  // namespace cubinet
