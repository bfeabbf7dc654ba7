// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace cubinet {

// An absolute http or https URL, split into the parts of a request. A plain value.
struct Url {
  std::string scheme;  // "https" or "http"
  std::string host;    // in the form of HostPort
  std::uint16_t port = 0;
  std::string path = "/";  // as written, percent-encoded; begins with '/'
  std::string query = {};  // as written, without its '?'

  // Parses a URL. Returns invalid_argument for any other text, also for a URL with a user name or
  // password, because URLs are printed in messages. Drops a fragment.
  static Result<Url> parse(std::string_view text);
  // Resolves a server's Location against this URL: another URL, "//host/…", "/…", "?…" or a path
  // that replaces everything after the last '/' (RFC 3986, 5.2).
  Result<Url> resolve(std::string_view reference) const;
  // Returns the URL with `more` appended to its path, separated by one '/'.
  Url below(std::string_view more) const;

  // Returns the host, with the port unless it is the scheme's default. This is the value of the
  // Host header.
  std::string authority() const;
  std::string to_string() const;
  // Returns the URL without its query, which may contain secrets that grant access.
  std::string for_people() const;
  bool has_origin_of(const Url& other) const {
    return scheme == other.scheme && host == other.host && port == other.port;
  }

  friend bool operator==(const Url&, const Url&) = default;
};

// Encodes all characters except letters, digits and "-._~" as %XX. Encodes '/' too unless it is to
// stay.
enum class Slashes { stay, encoded };
std::string percent_encode(std::string_view text, Slashes slashes);

}  // namespace cubinet
