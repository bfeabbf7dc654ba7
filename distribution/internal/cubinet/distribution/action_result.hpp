// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/sha256.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

// What lies below /ac/ of a server that keeps builds for Bazel, as much of it as is ours: the message
// build.bazel.remote.execution.v2.ActionResult, whose files lie below /cas/ by their digests or are in it. A
// plain value.
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
// corruption for what is no such message. Fields that are not ours are passed over: servers add some. Pure.
Result<ActionResult> parse_action_result(ByteView bytes);

}  // namespace cubinet
