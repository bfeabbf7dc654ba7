// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bundle/bundle_pack.hpp"

namespace cubinet {

// Appends the entries of a page of records; corruption where one cannot be read or does not come behind the
// one before it in the bundle.
Result<void> decode_entries(const BundlePack& pack, ByteView page, std::vector<BundleEntry>& entries);

// Reads every byte of a bundle, and compares what its parts say of each other.
Result<VerifyReport> verify_bundle(const BundlePack& pack);

}  // namespace cubinet
