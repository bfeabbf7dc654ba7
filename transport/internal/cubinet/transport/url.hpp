// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace cubinet {

// An absolute http or https URL in the parts that a request needs. A plain value.
struct Url {
  std::string scheme;  // "https" or "http"
  std::string host;    // as HostPort writes it
  std::uint16_t port = 0;
  std::string path = "/";  // as it was written, percent-encoded; begins with '/'
  std::string query = {};  // the same, without its '?'

  // invalid_argument for whatever has no such parts: a user name or password too, which would be told
  // wherever the URL is. A fragment is dropped.
  static Result<Url> parse(std::string_view text);
  // What a server's Location means, beside this URL: another URL, "//host/…", "/…", "?…" or a path from the
  // last '/' on (RFC 3986, 5.2).
  Result<Url> resolve(std::string_view reference) const;
  // The same with more of a path behind it, between the two one '/'.
  Url below(std::string_view more) const;

  // Host and, where it is not the scheme's own, port: what the header Host says.
  std::string authority() const;
  std::string to_string() const;
  // Without the query, which may hold what opens the URL to anybody.
  std::string for_people() const;
  bool has_origin_of(const Url& other) const {
    return scheme == other.scheme && host == other.host && port == other.port;
  }

  friend bool operator==(const Url&, const Url&) = default;
};

// All but letters, digits and "-._~" as %XX; '/' too unless it is to stay.
enum class Slashes { stay, encoded };
std::string percent_encode(std::string_view text, Slashes slashes);

}  // namespace cubinet
