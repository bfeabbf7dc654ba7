// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bundle/bundle_pages.hpp"
#include "bundle/bundle_root.hpp"

#include <span>
#include <utility>
#include <vector>

namespace cubinet::test {

// A bundle in which every digest is right, whatever its parts say of each other.
class ForgedBundle {
 public:
  explicit ForgedBundle(BundleProfile profile) { map.root.options = {"test", 3, 0, 0, profile}; }

  // The counts that the root states. write() fills in the rest.
  BundleMap map;

  // Appends a page. `first` is the number that it begins with.
  BundlePage add_page(std::uint64_t first, const Bytes& stored) {
    const BundlePage page{first, static_cast<std::uint32_t>(stored.size()), sha256(stored), pages_.size()};
    pages_.insert(pages_.end(), stored.begin(), stored.end());
    return page;
  }
  // Appends a branch to a table.
  void add_branch(BundleTable table, std::span<const BundlePage> pages) {
    const Bytes branch = encode_branch(pages);
    const auto number = static_cast<std::size_t>(table);
    map.branches[number].push_back(
        {pages.front().first, static_cast<std::uint32_t>(branch.size()), sha256(branch)});
    branches_[number].insert(branches_[number].end(), branch.begin(), branch.end());
  }

  // Returns the bundle's bytes. The root states the frames' size unless map.frames_bytes does.
  Bytes write(const Bytes& frames = {}) {
    map.pages_bytes = pages_.size();
    if (map.frames_bytes == 0) map.frames_bytes = frames.size();
    Bytes bytes = encode_root(map);
    for (const Bytes& branches : branches_)
      bytes.insert(bytes.end(), branches.begin(), branches.end());
    bytes.insert(bytes.end(), pages_.begin(), pages_.end());
    bytes.resize(static_cast<std::size_t>(map.frames_offset));
    bytes.insert(bytes.end(), frames.begin(), frames.end());
    return bytes;
  }

 private:
  Bytes branches_[kBundleTables];
  Bytes pages_;
};

}  // namespace cubinet::test
