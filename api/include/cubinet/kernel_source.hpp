// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace cubinet {

// Where a kernel came from. `process`: it was loaded already; `memory`: built earlier by this Runtime, which
// has no usable home; `imported`: of a folder of published cubins.
enum class KernelSource { process, memory, registry, bundle, compiled, imported };
std::string_view to_string(KernelSource source);

}  // namespace cubinet
