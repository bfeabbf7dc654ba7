// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bundle/bundle_pack.hpp"

namespace cubinet {

// Appends the entries of a page of records. Returns an error (corruption) if one cannot be decoded
// or is out of order in the bundle.
Result<void> decode_entries(const BundlePack& pack, ByteView page, std::vector<BundleEntry>& entries);

// The extent of a check: every byte, or all but the images. An import reads and checks the images
// itself.
enum class BundleCheck { everything, structure };

// Compares the parts of a bundle with each other.
Result<VerifyReport> verify_bundle(const BundlePack& pack, BundleCheck check = BundleCheck::everything);

}  // namespace cubinet
