// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/cubin_registry/bundle.hpp>
#include <cubinet/session/session_options.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace cubinet {

// The builds of two bundles, compared by identity, kind and build fingerprint. A changed build is
// the record of the second bundle. The versions of the bundles are not compared. A plain value.
struct BundleComparison {
  CubinRecords only_in_first = {};
  CubinRecords only_in_second = {};
  CubinRecords changed = {};                   // the same build with another record or other bytes
  std::array<std::uint64_t, 2> versions = {};  // of the bundles

  std::size_t differences() const { return only_in_first.size() + only_in_second.size() + changed.size(); }
};

// Opens a bundle under the session's policy and reads all of it. Returns an error (corruption) if
// any part is damaged, because the records of a damaged image say nothing about its bytes;
// otherwise the errors of Bundle::open.
Result<std::shared_ptr<Bundle>> open_sound_bundle(const SessionOptions& session, const std::string& path);

// Compares the records of two sound bundles.
Result<BundleComparison> compare_bundles(Bundle& first, Bundle& second);

// Returns the JSON that `cubinet bundle diff --json` prints.
std::string to_json(const BundleComparison& comparison);

}  // namespace cubinet
