// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/backend.hpp>

#include <memory>

namespace cubinet {

// Our own templates, the families of decode attention, compiled for the device when needed.
Result<std::shared_ptr<const AttentionBackend>> make_template_backend();

}  // namespace cubinet
