// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>
#include <cubinet/base/sha256.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

// One line of a checksums.txt: a file of the folder and the digest of its bytes.
struct ChecksumEntry {
  std::string name;  // relative to the folder of the list, without "./"
  Sha256Digest digest;
  std::size_t line = 0;

  friend bool operator==(const ChecksumEntry&, const ChecksumEntry&) = default;
};

// Reads lines `<64 hex digits>  <relative file>` in the format of sha256sum, including " *" of its
// binary mode, "./" and CR LF. Skips blank lines and keeps the order. Accepts any bytes. Errors
// name the line: corruption for a malformed line or two digests of one name, untrusted for a name
// that leaves the folder.
Result<std::vector<ChecksumEntry>> read_checksums(std::string_view text);

// Returns the reason why an external name must not be joined to a folder's path: it is absolute,
// has an empty part, "." or "..", or a control character, or exceeds the length of a path. Empty:
// it may be joined.
std::string_view why_not_within(std::string_view name);

}  // namespace cubinet
