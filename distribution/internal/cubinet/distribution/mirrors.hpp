// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/distribution/content_server.hpp>

#include <chrono>
#include <memory>
#include <vector>

namespace cubinet {

// Joins several servers of the same content. If one lacks content, has wrong bytes or does not
// answer, the next is tried. A server that gave no answer is skipped for `rest`, unless all are
// skipped, and then tried again. Only the first is written. REQUIRES: at least one.
std::shared_ptr<ContentServer> join_mirrors(std::vector<std::shared_ptr<ContentServer>> servers,
                                            std::chrono::milliseconds rest = std::chrono::minutes(1));

}  // namespace cubinet
