// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>

#include <cstddef>
#include <span>

namespace cubinet {

// At most `size` bytes of these samples, which lie one behind the other: those parts that hold most of what
// the others repeat. What one part covers counts for none after it. The same for the same samples.
Bytes choose_dictionary_content(ByteView samples, std::span<const std::size_t> sizes, std::size_t size);

}  // namespace cubinet
