// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>

#include <string>
#include <string_view>

namespace cubinet {

// A server's location in its canonical form. Policies, pins and the home's stored channels compare
// locations as text, so each location has exactly one form. A plain value.
struct ServerPlace {
  std::string scheme;  // "https", "http", "oci" or "s3"
  // The host, or host:port if the port is not the scheme's default; for s3 the bucket.
  std::string authority;
  std::string path;  // without '/' at either end; empty for the whole server

  // Parses `scheme://authority[/path]`. Converts to the canonical form: a scheme and host in upper
  // case, the default port and one '/' at the end. Otherwise returns invalid_argument, whose
  // message is the reason alone. The reasons are a user name, a '?', a '#', an empty, `.` or `..`
  // segment, and an escape (%XX) of a character that needs none or that a server may treat as '/'
  // or '.'.
  static Result<ServerPlace> parse(std::string_view text);
  // Parses a prefix that ends in '/' and matches every location below it. The path of an oci prefix
  // may be empty.
  static Result<ServerPlace> parse_prefix(std::string_view text);
  std::string to_string() const;
};

// Returns whether the text is a URL (a scheme, then "://") and not a path.
bool is_url(std::string_view text);

}  // namespace cubinet
