// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>

#include <cstddef>
#include <span>

namespace cubinet {

// Chooses at most `size` bytes of these contiguous samples: the parts with the most content that
// other samples repeat. Content covered by one part does not count for later ones. Deterministic.
Bytes choose_dictionary_content(ByteView samples, std::span<const std::size_t> sizes, std::size_t size);

}  // namespace cubinet
