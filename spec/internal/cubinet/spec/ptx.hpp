// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>
#include <cubinet/spec/sm_target.hpp>

#include <string>
#include <vector>

namespace cubinet {

// The statements of a PTX module about itself (PTX ISA, "PTX Module Directives").
struct PtxInspection {
  std::string version;  // of the PTX ISA: "9.0"
  std::string release;  // of the tools that made it: "13.5"; empty if no comment states it
  // The required target, or the oldest known target if it is older than that.
  SmTarget target;
  std::vector<std::string> kernels;  // names of .entry functions, in order
};

// Reads a PTX module. Any bytes give an inspection or corruption. The text must end with a NUL,
// because the driver gets no length and reads up to the NUL.
Result<PtxInspection> inspect_ptx(ByteView image);

}  // namespace cubinet
