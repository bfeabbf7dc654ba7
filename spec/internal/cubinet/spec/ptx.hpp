// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>
#include <cubinet/spec/sm_target.hpp>

#include <string>
#include <vector>

namespace cubinet {

// What the text of a PTX module says of itself (PTX ISA, "PTX Module Directives").
struct PtxInspection {
  std::string version;  // "9.0", the PTX ISA's
  std::string release;  // of the tools that made it, "13.5"; empty where no comment says it
  SmTarget target;      // that it needs; of an older one than any known here, the oldest of these
  std::vector<std::string> kernels;  // names of .entry functions, in order
};

// Any bytes give an inspection or corruption. The text has to end with the NUL that the driver, which is
// given no length, reads up to.
Result<PtxInspection> inspect_ptx(ByteView image);

}  // namespace cubinet
