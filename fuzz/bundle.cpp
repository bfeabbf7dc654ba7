// SPDX-License-Identifier: Apache-2.0
// Reads a bundle's root, branches and pages. A wrong digest hides the content behind it, so the
// root is read a second time with the right digest.
#include "bundle/bundle_branches.hpp"
#include "bundle/bundle_pages.hpp"
#include "bundle/bundle_root.hpp"
#include "fuzz.hpp"

#include <cubinet/base/sha256.hpp>

#include <algorithm>
#include <cstdlib>

namespace cubinet::fuzz {
namespace {

// Reads a page that follows the byte for its table. The page's first number, which the root states,
// is taken from the page.
void read_page(ByteView bytes) {
  const auto table = static_cast<BundleTable>(std::to_integer<std::size_t>(bytes.front()) % kBundleTables);
  const ByteView page = bytes.subspan(1);
  const std::size_t at = table == BundleTable::records ? 4 : 0;
  if (page.size() < at + 8) return;
  const std::uint64_t first = integer_at<std::uint64_t>(page, at);
  if (!check_page(table, page, first)) return;
  for (std::size_t i = 0; i < entries_of(table, page); ++i) {
    if (table == BundleTable::records && image_in(entry_of(table, page, i)))
      static_cast<void>(decode_record(record_in(entry_of(table, page, i))));
    const auto [begin, end] = entries_with(table, page, number_of(table, page, i));
    if (begin > i || end <= i) std::abort();
  }
}

}  // namespace

void read(ByteView bytes) {
  if (!bytes.empty()) read_page(bytes);
  static_cast<void>(root_bytes_of(bytes));
  const auto pages =
      read_pages(bytes.first(bytes.size() / kPageEntryBytes * kPageEntryBytes), 0, kMaximumPageBytes);
  if (pages) static_cast<void>(pages_with(*pages, pages->empty() ? 0 : pages->back().first));
  static_cast<void>(decode_root(bytes));
  constexpr std::size_t kDigest = 32;
  if (bytes.size() > kDigest) {
    Bytes root(bytes.begin(), bytes.end());
    const Sha256Digest digest = sha256(bytes.first(bytes.size() - kDigest));
    std::copy(digest.bytes.begin(), digest.bytes.end(), root.end() - kDigest);
    static_cast<void>(decode_root(root));
  }
}

}  // namespace cubinet::fuzz
