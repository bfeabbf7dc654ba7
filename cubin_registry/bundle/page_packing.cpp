// SPDX-License-Identifier: Apache-2.0
#include "bundle/page_packing.hpp"

#include "bundle/bundle_branches.hpp"
#include "bundle/zstd_frame.hpp"

#include <algorithm>
#include <utility>

namespace cubinet {

Bytes pack_page(Bytes page) {
  Bytes packed = pack_zstd(page);
  return packed.size() < (page.size() + kMostUnpacked - 1) / kMostUnpacked ? std::move(page)
                                                                           : std::move(packed);
}

Result<Bytes> unpack_page(Bytes stored) {
  // A page begins with the number of its records. The number that a zstd frame begins with is above
  // any.
  if (!is_zstd_frame(stored)) return stored;
  return unpack_zstd_within(stored, std::min<std::size_t>(kMaximumPageBytes, stored.size() * kMostUnpacked));
}

}  // namespace cubinet
