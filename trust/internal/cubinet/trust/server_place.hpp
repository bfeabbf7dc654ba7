// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>

#include <string>
#include <string_view>

namespace cubinet {

// A server's place in its canonical form. Policies, pins and the home's memory of channels compare places as
// text, so each place has exactly one. A plain value.
struct ServerPlace {
  std::string scheme;     // "https", "http", "oci" or "s3"
  std::string authority;  // host, or host:port if the port is not the scheme's; of s3 the bucket
  std::string path;       // without '/' at either end; empty for the whole server

  // Parses `scheme://authority[/path]`. Scheme and host in upper case, the usual port and one '/' at the end
  // are canonicalised. Otherwise returns invalid_argument, whose message is the reason alone: for a user
  // name, a '?', a '#', an empty, `.` or `..` segment, and an escape (%XX) of a character that needs none or
  // that a server may take for a '/' or a '.'.
  static Result<ServerPlace> parse(std::string_view text);
  // Parses a place that ends in '/' and stands for all below it: of oci its path may be empty.
  static Result<ServerPlace> parse_prefix(std::string_view text);
  std::string to_string() const;
};

// Returns whether the text is a URL (a scheme, then "://"), and not a path.
bool is_url(std::string_view text);

}  // namespace cubinet
