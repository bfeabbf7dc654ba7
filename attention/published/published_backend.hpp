// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/backend.hpp>

#include <memory>

namespace cubinet {

// The rows of published artifacts: chosen, sized and, where the metadata header that lists them is known,
// launched as their publisher launches them (docs/published.md).
std::shared_ptr<const AttentionBackend> make_published_backend();

}  // namespace cubinet
