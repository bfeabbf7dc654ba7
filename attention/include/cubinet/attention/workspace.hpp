// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/operation.hpp>
#include <cubinet/loader/memory.hpp>

#include <memory>

namespace cubinet {

// The scratch and counter buffers of one plan on one device. Freed on destruction, before which the
// last run that uses them must have finished. Movable; use it on one stream at a time.
class AttentionWorkspace {
 public:
  // Allocates both buffers and zeroes them. Driver errors are returned and name the size.
  static Result<AttentionWorkspace> allocate(std::shared_ptr<const Device> device,
                                             const WorkspaceSizes& sizes);

  // Sets tensors.scratch and tensors.counters to these buffers.
  void attach(AttentionTensors& tensors) const;

 private:
  AttentionWorkspace(DeviceBuffer scratch, DeviceBuffer counters)
      : scratch_(std::move(scratch)), counters_(std::move(counters)) {}

  DeviceBuffer scratch_;
  DeviceBuffer counters_;
};

}  // namespace cubinet
