// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "operation_class.hpp"

#include <cubinet/attention/backend.hpp>

#include <memory>
#include <vector>

namespace cubinet {

// Creates the backend of the built-in templates, whose kernels are compiled for the device when
// needed. It queries the classes in their order, and the families of each class in that class's
// order. The first family that serves a problem plans it.
Result<std::shared_ptr<const AttentionBackend>> make_template_backend(
    std::vector<std::shared_ptr<const OperationClass>> classes);

}  // namespace cubinet
