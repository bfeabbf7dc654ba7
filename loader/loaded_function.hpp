// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver_api.hpp"
#include "kernel_subject.hpp"

#include <cubinet/base/result.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace cubinet {

// Returns the number of blocks of a cluster, or UINT32_MAX if it is larger.
inline std::uint32_t cluster_blocks(const std::array<std::uint32_t, 3>& cluster) {
  const std::uint64_t plane = std::uint64_t{cluster[0]} * cluster[1];
  if (plane > UINT32_MAX) return cluster[2] == 0 ? 0 : UINT32_MAX;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(plane * cluster[2], UINT32_MAX));
}

// The launch data of one function, read when its module is loaded. It exists as long as the module.
// A launch reads two adjacent cache lines of it, also of a function that was not launched for long.
class alignas(128) LoadedFunction {
 public:
  LoadedFunction(const Device& device, const CubinRecord& record, const EntryPoint& entry_point,
                 CUfunction handle)
      : handle_(handle),
        driver_(*device.driver()),
        block_(entry_point.block()),
        cluster_(entry_point.cluster),
        dynamic_shared_bytes_(entry_point.dynamic_shared_bytes),
        cooperative_(entry_point.cooperative),
        may_start_early_(entry_point.programmatic_launch &&
                         device.properties().capability.major >= kProgrammaticMajor),
        subject_{device, record, &entry_point} {}

  // Queries the function's limits and arguments from the driver and compares them with the record
  // and the device. Returns corruption for a difference and unsupported if the device cannot run
  // the function. `only_argument` is the size in bytes of the one argument that the image certainly
  // has, or 0 if the image does not state it.
  Result<void> prepare(std::uint32_t only_argument);

  const KernelSubject& subject() const { return subject_; }
  const EntryPoint& entry_point() const { return *subject_.entry_point; }
  const Device& device() const { return subject_.device; }
  const Driver& driver() const { return driver_; }
  CUfunction handle() const { return handle_; }
  std::uint32_t maximum_threads() const { return maximum_threads_; }
  // The record's values.
  const std::array<std::uint32_t, 3>& block() const { return block_; }
  const std::array<std::uint32_t, 3>& cluster() const { return cluster_; }
  std::uint32_t dynamic_shared_bytes() const { return dynamic_shared_bytes_; }
  bool cooperative() const { return cooperative_; }
  // Returns whether the record and the device allow programmatic dependent launch.
  bool may_start_early() const { return may_start_early_; }

  // Raises the driver's limit of dynamic shared memory to at least `bytes`. Costs one load if it
  // was already raised. Otherwise it makes a driver call, which is idempotent, so several threads
  // may call it at once. Returns unsupported, with the numbers, above the device's limit.
  Result<void> grant_shared_bytes(std::uint32_t bytes) const {
    if (bytes <= granted_shared_bytes_.load(std::memory_order_relaxed)) return {};
    return raise_shared_limit(bytes);
  }
  // Enables clusters of more than 8 blocks in the same manner. Not every device of an architecture
  // supports them.
  Result<void> grant_cluster(std::uint32_t blocks) const {
    if (blocks <= kPortableClusterBlocks || non_portable_granted_.load(std::memory_order_relaxed)) return {};
    return allow_non_portable_cluster();
  }

  // Returns the number of blocks that fit on one SM. Each measurement waits for the loads of other
  // threads, so the last one is kept: a server binds many plans of one kernel.
  Result<int> blocks_per_multiprocessor(std::uint32_t threads, std::uint32_t dynamic_shared_bytes) const;

  // Returns whether `count` arguments of these sizes match the kernel's declaration, as far as it
  // is known, and none is null.
  bool accepts(const void* const* arguments, const std::uint32_t* sizes, std::size_t count) const {
    if (arguments_known_ && count != argument_count_) return false;
    const std::uint32_t* const known =
        count <= first_sizes_.size() ? first_sizes_.data() : argument_bytes_.data();
    for (std::size_t i = 0; i < count; ++i) {
      if (arguments[i] == nullptr || (arguments_known_ && sizes[i] != known[i])) return false;
    }
    return true;
  }
  std::optional<std::span<const std::uint32_t>> argument_sizes() const {
    if (!arguments_known_) return std::nullopt;
    return argument_bytes_;
  }
  // Returns "2 arguments of 8 and 4 bytes".
  std::string expected_arguments() const;

 private:
  // 8 blocks are portable (CUDA Programming Guide, "Thread block clusters").
  static constexpr std::uint32_t kPortableClusterBlocks = 8;
  static constexpr std::uint16_t kProgrammaticMajor = 9;  // programmatic dependent launch begins at 9.0

  Result<std::uint32_t> attribute(CUfunction_attribute which) const;
  Result<void> read_arguments(std::uint32_t only_argument);
  Result<void> raise_shared_limit(std::uint32_t bytes) const;
  Result<void> allow_non_portable_cluster() const;

  // The first line.
  CUfunction handle_;
  const Driver& driver_;
  std::array<std::uint32_t, 3> block_;
  std::array<std::uint32_t, 3> cluster_;
  std::uint32_t dynamic_shared_bytes_;
  std::uint32_t maximum_threads_ = 0;
  mutable std::atomic<std::uint32_t> granted_shared_bytes_ = 0;
  std::uint16_t argument_count_ = 0;
  bool arguments_known_ = false;
  bool cooperative_;
  bool may_start_early_;
  mutable std::atomic<bool> non_portable_granted_ = false;
  // The second line.
  std::array<std::uint32_t, 8> first_sizes_{};  // of argument_bytes_
  KernelSubject subject_;
  // Not read by the launch of a kernel with up to eight arguments.
  std::vector<std::uint32_t> argument_bytes_;
  std::uint32_t static_shared_bytes_ = 0;
  // The last measured occupancy: threads, bytes of shared memory and blocks, from the highest bit.
  // 0: none.
  mutable std::atomic<std::uint64_t> occupancy_ = 0;
};

}  // namespace cubinet
