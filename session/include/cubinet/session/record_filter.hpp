// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>
#include <cubinet/cubin_registry/store.hpp>
#include <cubinet/spec/data_type.hpp>
#include <cubinet/spec/image_target.hpp>
#include <cubinet/spec/kernel_key.hpp>

#include <string>
#include <vector>

namespace cubinet {

// The builds of a store that an operation works on. A build passes if it meets every list; an empty
// list lets every build pass. A plain value.
struct RecordFilter {
  std::vector<std::string> templates = {};
  std::vector<ImageTarget> targets = {};
  std::vector<KernelKey> keys = {};
  std::vector<std::string> functions = {};  // symbols, or the names in the source
  std::vector<DataType> types = {};         // a kernel with other data types does not pass
  // Keys, and names of templates, publishers or functions. NAME@PIN selects the kernels of one pin,
  // or of one version of a publisher.
  std::vector<std::string> kernels = {};

  bool empty() const {
    return kernels.empty() && templates.empty() && targets.empty() && keys.empty() && functions.empty() &&
           types.empty();
  }
};

// Returns the records that pass, in their order.
CubinRecords select_records(const RecordFilter& filter, CubinRecords records);

// Returns invalid_argument, with the keys and names, if a name means several kernels. The name of a
// tool (KernelMaker::tool) may mean several.
Result<void> check_one_kernel(const std::string& name, const CubinRecords& records);

}  // namespace cubinet
