// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/sha256.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

// A server, and a bundle on it, as the user writes them:
//
//   https://host[:port]/base[#channel]       a static server, or one with WebDAV; http:// if it is allowed
//   s3://bucket[/prefix][#channel]
//   oci://host[:port]/name[:channel]         a registry of container images
//   file:///folder[#channel], whose path may have escapes (%20), or a path[#channel]
//
// `@sha256:<64 hexadecimal digits>` instead of a channel is the digest of a manifest. A plain
// value, in the canonical form of ServerPlace: references to the same location on the same server
// are equal as text.
struct ServerReference {
  enum class Layout { https, s3, oci, folder };

  Layout layout = Layout::folder;
  std::string scheme = {};     // of https and oci: "https" or "http"
  std::string authority = {};  // of https and oci: host[:port]; of s3 the bucket
  // The path below that, without '/' at its end. For a folder, its absolute path.
  std::string path = {};
  std::string channel = {};  // empty: none was named
  std::optional<Sha256Digest> digest = {};

  // Parses a reference. Returns invalid_argument if it names no server or has no canonical form, io
  // like absolute_path().
  static Result<ServerReference> parse(std::string_view text);
  // Returns the reference without channel and digest.
  std::string to_string() const;
  // Returns the reference with channel and digest.
  std::string to_full_string() const;
};

// Parses a reference and its mirrors. Returns invalid_argument for a mirror that names a channel or
// a manifest.
Result<std::vector<ServerReference>> parse_references(const std::string& reference,
                                                      const std::vector<std::string>& mirrors);

// Checks the name of a channel, which is used in paths and as a tag of a registry: a letter, digit
// or '_', then up to 127 of these, '.' and '-'.
Result<void> check_channel(std::string_view channel);

}  // namespace cubinet
