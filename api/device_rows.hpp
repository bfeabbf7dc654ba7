// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cubin_source.hpp"

namespace cubinet {

// Implements Runtime::rows() and Runtime::build_status().
class DeviceRowReader {
 public:
  DeviceRowReader(Library& library, KernelCache& prepared, CubinSource& source)
      : library_(library), kernels_(prepared), source_(source) {}

  Result<DeviceRows> rows(ComputeCapability device);
  Result<ExplainedBuild> build_status(std::shared_ptr<const CubinRecord> record);

 private:
  Library& library_;
  KernelCache& kernels_;
  CubinSource& source_;
};

}  // namespace cubinet
