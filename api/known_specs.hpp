// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/spec/kernel_spec.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>

namespace cubinet {

class CachedKernel;

// The kernels of one Runtime by the specifications that callers requested, complete or not. A
// look-up takes no lock and does not allocate. Entries are never removed. Thread-safe.
class KnownSpecs {
 public:
  KnownSpecs() = default;
  ~KnownSpecs();
  KnownSpecs(const KnownSpecs&) = delete;
  KnownSpecs& operator=(const KnownSpecs&) = delete;

  // Returns nullptr for an unknown specification.
  const CachedKernel* find(const KernelSpec& requested) const;
  // Adds an entry, unless there is one.
  void add(const KernelSpec& requested, std::shared_ptr<const CachedKernel> kernel);

 private:
  struct Entry;
  // More than most processes request, in 8 KiB.
  static constexpr std::size_t kBuckets = 1024;

  std::array<std::atomic<const Entry*>, kBuckets> buckets_{};
  std::mutex mutex_;  // of writers
};

}  // namespace cubinet
