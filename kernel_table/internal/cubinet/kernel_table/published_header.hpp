// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/sha256.hpp>

#include <cstdint>
#include <string_view>

namespace cubinet {

// A published metadata header of attention kernels whose content is known. A cubin does not say how its
// arguments are laid out, and its size does not name the layout (1,152 bytes are taken by cubins of several
// versions, between which 25 members move): the header's bytes do.
struct PublishedHeader {
  std::string_view sha256;     // of the header's bytes, 64 hex digits
  std::string_view publisher;  // package and version: "flashinfer-cubin 0.6.13"
  std::string_view
      argument_layout;  // the name of its kernels' arguments' layout: "0.6.13"; empty: none known
  std::uint32_t argument_bytes = 0;  // of EIATTR_CBANK_PARAM_SIZE in every one of its cubins
};

// Whether people mean this pin (64 hex digits) by a text: its beginning, or the version that published it, in
// whole ("flashinfer-cubin 0.6.13") or by its last word.
bool names_pin(std::string_view text, std::string_view pin);

// The header of that content; nullptr where it is not known. Lives as long as the program.
const PublishedHeader* find_published_header(const Sha256Digest& digest);

}  // namespace cubinet
