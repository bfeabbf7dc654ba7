// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bundle/bundle_pack.hpp"

namespace cubinet {

// Appends the records of a page; corruption where one cannot be read or does not come behind the one before
// it in the bundle.
Result<void> decode_records(const BundlePack& pack, ByteView page, CubinRecords& records);

// Reads every byte of a bundle, and compares what its parts say of each other.
Result<VerifyReport> verify_bundle(const BundlePack& pack);

}  // namespace cubinet
