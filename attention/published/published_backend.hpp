// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/backend.hpp>

#include <memory>

namespace cubinet {

// Returns the backend of published artifacts. It chooses and sizes their rows. If the metadata
// header that lists them is known, it launches them like their publisher does (docs/published.md).
std::shared_ptr<const AttentionBackend> make_published_backend();

}  // namespace cubinet
