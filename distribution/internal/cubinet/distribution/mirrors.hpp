// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/distribution/content_server.hpp>

#include <chrono>
#include <memory>
#include <vector>

namespace cubinet {

// Several servers of the same content as one. Each is asked in its turn: what one does not have, or has
// wrong, or cannot answer for, is taken from the next. One that gave no answer is passed over for `rest`,
// unless all were; then it is asked again. Written is the first alone. REQUIRES: at least one.
std::shared_ptr<ContentServer> join_mirrors(std::vector<std::shared_ptr<ContentServer>> servers,
                                            std::chrono::milliseconds rest = std::chrono::minutes(1));

}  // namespace cubinet
