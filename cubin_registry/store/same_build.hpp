// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/spec/cubin.hpp>

namespace cubinet {

// Returns whether two records have the same identity, kind and fingerprint. Their builds are
// interchangeable.
bool is_same_build(const CubinRecord& a, const CubinRecord& b);

// Returns whether `wanted` replaces `there`, a record of the same build. Normally the first record
// stays. A local build replaces a bundle's, because it is made only if that one was unusable, and a
// newer bundle replaces an older one.
bool supersedes(const CubinRecord& wanted, const CubinRecord& there);

}  // namespace cubinet
