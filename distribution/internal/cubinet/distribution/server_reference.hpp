// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/sha256.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace cubinet {

// A server as a user writes it, and what on it:
//
//   https://host[:port]/base[#channel]       a static server, or one with WebDAV (http:// where it was
//   allowed) s3://bucket[/prefix][#channel] oci://host[:port]/name[:channel]         a registry of container
//   images file:///folder[#channel]  or  a path
//
// and in the place of a channel `@sha256:<64 hexadecimal digits>`, the digest of a manifest. A plain value.
struct ServerReference {
  enum class Layout { https, s3, oci, folder };

  Layout layout = Layout::folder;
  std::string scheme = {};     // of https and oci: "https" or "http"
  std::string authority = {};  // of https and oci: host[:port]; of s3 the bucket
  std::string path = {};       // below that, or the folder; no '/' at its end
  std::string channel = {};    // empty: none was named
  std::optional<Sha256Digest> digest = {};

  static Result<ServerReference> parse(std::string_view text);
  // As it is written, without channel and digest.
  std::string to_string() const;
  // With them.
  std::string to_full_string() const;
};

// A name that stands in a path and is a tag of a registry: a letter, digit or '_', then up to 127 of these,
// '.' and '-'.
Result<void> check_channel(std::string_view channel);

}  // namespace cubinet
