// SPDX-License-Identifier: Apache-2.0
#include <cubinet/attention/backend.hpp>

#include <algorithm>
#include <iterator>
#include <string_view>

namespace cubinet {
namespace {

// With rows of its own, so that what is nearest to a miss is sought among them.
std::shared_ptr<const KernelIndex> index_of(std::string_view implementation,
                                            const std::vector<KernelRow>& rows, ComputeCapability device) {
  auto own = std::make_shared<std::vector<KernelRow>>();
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(*own),
               [&](const KernelRow& row) { return row.implementation == implementation; });
  return std::make_shared<const KernelIndex>(KernelIndex::build(std::move(own), device));
}

}  // namespace

BackendContext BackendContext::create(const DeviceFacts& device, const std::vector<KernelRow>& rows,
                                      const SelectionPolicy& policy) {
  BackendContext context;
  context.device = device;
  context.policy = policy;
  context.imported_rows = index_of(kPublishedImplementation, rows, device.capability);
  context.template_rows = index_of(kDecodeTemplate, rows, device.capability);
  return context;
}

}  // namespace cubinet
