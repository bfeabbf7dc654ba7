// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/error.hpp>
#include <cubinet/spec/kernel_spec.hpp>

namespace cubinet {

// Returns `error`. If a workload's own source or image was not found, the message names it by its
// digest, and the remedy says how to provide it.
Error missing_code(const KernelSpec& spec, Error error);

}  // namespace cubinet
