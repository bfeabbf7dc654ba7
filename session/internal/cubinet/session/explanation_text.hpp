// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/kernel_explanation.hpp>

#include <string>

namespace cubinet {

// Returns an explanation as printable lines: the kernel, the reason, the policy, the builds from
// best to worst with the chosen one marked, targets without a build, and the nearest kernels. `fix`
// says how to obtain the kernel; it may be empty.
std::string to_text(const KernelExplanation& explanation, const std::string& fix);

}  // namespace cubinet
