// SPDX-License-Identifier: Apache-2.0
#include <cubinet/attention/workspace.hpp>

namespace cubinet {

Result<AttentionWorkspace> AttentionWorkspace::allocate(std::shared_ptr<const Device> device,
                                                        const WorkspaceSizes& sizes) {
  CUBINET_TRY_ASSIGN(DeviceBuffer scratch, DeviceBuffer::zeroed(device, sizes.scratch_bytes));
  CUBINET_TRY_ASSIGN(DeviceBuffer counters, DeviceBuffer::zeroed(device, sizes.counter_bytes));
  return AttentionWorkspace(std::move(scratch), std::move(counters));
}

void AttentionWorkspace::attach(AttentionTensors& tensors) const {
  tensors.scratch = scratch_;
  tensors.counters = counters_;
}

}  // namespace cubinet
