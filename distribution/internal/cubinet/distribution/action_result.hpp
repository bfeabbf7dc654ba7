// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/sha256.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

// An entry below /ac/ of a server that keeps builds for Bazel, reduced to the fields that are used
// here: the message build.bazel.remote.execution.v2.ActionResult. Its files are stored below /cas/
// by their digests, or inside it. A plain value.
struct ActionResult {
  struct File {
    std::string path;  // relative
    Sha256Digest digest;
    std::uint64_t size = 0;
    Bytes contents = {};  // empty: only below /cas/
  };
  std::vector<File> files;

  const File* find(std::string_view path) const;
};

Bytes encode_action_result(const ActionResult& result);
// Parses the message. Skips unknown fields, because some servers add them. Returns an error
// (corruption) for a malformed message. Pure.
Result<ActionResult> parse_action_result(ByteView bytes);

}  // namespace cubinet
