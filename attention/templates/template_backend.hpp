// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/backend.hpp>

#include <memory>

namespace cubinet {

// Creates the backend of the built-in templates: the families of decode attention, whose kernels
// are compiled for the device when needed.
Result<std::shared_ptr<const AttentionBackend>> make_template_backend();

}  // namespace cubinet
