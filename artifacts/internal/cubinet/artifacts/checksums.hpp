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

// Reads `<64 hex digits>  <relative file>` lines, as sha256sum writes them (" *" of its binary mode, "./" and
// CR LF included; blank lines are skipped). In the order of the text. Any bytes give entries or an error that
// names the line: corruption for what is no such line, untrusted for a name that leads out of the folder,
// corruption for two digests of one name.
Result<std::vector<ChecksumEntry>> read_checksums(std::string_view text);

// Why a name from outside may not be joined to a folder's path: it is absolute, has an empty part, "." or
// "..", a control character, or is longer than a path may be. Empty where it may.
std::string_view why_not_within(std::string_view name);

}  // namespace cubinet
