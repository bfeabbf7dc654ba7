// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>
#include <cubinet/spec/cubin.hpp>
#include <cubinet/spec/image_target.hpp>

#include <string>

namespace cubinet {

// Returns unsupported if no device of the target can launch the kernel as it is declared. `what`
// names in the message what is launched.
Result<void> check_launch_limits(const EntryPoint& entry, const std::string& what, ImageTarget image);

}  // namespace cubinet
