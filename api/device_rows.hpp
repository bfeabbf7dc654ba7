// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cubin_source.hpp"

namespace cubinet {

// Implements Runtime::rows() and Runtime::standing().
class DeviceRowReader {
 public:
  DeviceRowReader(Library& library, PreparedKernels& prepared, CubinSource& source)
      : library_(library), prepared_(prepared), source_(source) {}

  Result<DeviceRows> rows(ComputeCapability device);
  Result<ExplainedBuild> standing(std::shared_ptr<const CubinRecord> record);

 private:
  Library& library_;
  PreparedKernels& prepared_;
  CubinSource& source_;
};

}  // namespace cubinet
