// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/host_port.hpp>
#include <cubinet/base/text.hpp>
#include <cubinet/trust/server_place.hpp>

#include <algorithm>
#include <array>
#include <charconv>

namespace cubinet {
namespace {

Error bad_place(std::string_view reason) {
  return Error{ErrorCode::invalid_argument, std::string(reason)};
}

bool is_lower_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

bool is_bucket(std::string_view name) {
  return name.size() >= 3 && name.size() <= 63 && is_lower_or_digit(name.front()) &&
         is_lower_or_digit(name.back()) && name.find("..") == std::string_view::npos &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return is_lower_or_digit(c) || c == '-' || c == '.'; });
}

// Returns whether the name follows the distribution-spec: components of [a-z0-9]+ with single
// separators between, joined by '/'.
bool is_repository_name(std::string_view name) {
  if (name.empty() || name.size() > 255 || !is_lower_or_digit(name.front()) ||
      !is_lower_or_digit(name.back()))
    return false;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (is_lower_or_digit(name[i])) continue;
    if (std::string_view("._-/").find(name[i]) == std::string_view::npos) return false;
    const bool run = name[i] == name[i - 1] && (name[i] == '-' || name[i] == '_');
    if (!is_lower_or_digit(name[i - 1]) && !run) return false;
  }
  return true;
}

// Returns whether the character is a `pchar` (RFC 3986) other than an escape and ';'. Some servers
// cut a segment at its ';'.
bool is_plain_in_path(char c) {
  return is_word_character(c) || std::string_view("-.~!$&'()*+,=:@").find(c) != std::string_view::npos;
}

// Copies the segment with its escapes in upper case. An escape is allowed only for a byte that
// cannot be written plainly. Escapes of '/', '\', '%' and ';' are rejected: a server or proxy may
// decode them, and then separate segments at them.
Result<std::string> canonical_segment(std::string_view segment) {
  std::string canonical;
  for (std::size_t i = 0; i < segment.size(); ++i) {
    if (segment[i] != '%') {
      if (!is_plain_in_path(segment[i]))
        return bad_place("its path holds '" + printable(segment.substr(i, 1)) +
                         "', which is not plain there: letters, digits and -._~!$&'()*+,=:@ are");
      canonical += segment[i];
      continue;
    }
    const std::string digits = segment.size() - i > 2 ? std::string(segment.substr(i + 1, 2)) : "";
    unsigned value = 0;
    const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    if (status != std::errc() || end != digits.data() + 2)
      return bad_place("its path has a '%' without two hexadecimal digits");
    const char meant = static_cast<char>(value);
    if (is_plain_in_path(meant))
      return bad_place("its path has the escape %" + digits + " for '" + meant + "': write it plainly");
    if (value < 0x20 || value == 0x7f || std::string_view("/\\%;").find(meant) != std::string_view::npos)
      return bad_place("its path has the escape %" + digits + ", which servers read in different ways");
    constexpr std::string_view kDigits = "0123456789ABCDEF";
    canonical += {'%', kDigits[value >> 4U], kDigits[value & 15U]};
    i += 2;
  }
  return canonical;
}

// Returns the path with every segment in its canonical form. S3 keys are not escaped: they are
// plain text.
Result<std::string> canonical_path(std::string_view path, bool is_escaped) {
  std::string canonical;
  while (!path.empty()) {
    const std::string_view segment = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(segment.size() + 1, path.size()));
    if (segment.empty() || segment == "." || segment == "..")
      return bad_place("its path has an empty segment, '.' or '..'");
    if (!is_escaped && !is_printable(segment)) return bad_place("its path holds a control character");
    if (!canonical.empty()) canonical += '/';
    if (is_escaped) {
      CUBINET_TRY_ASSIGN(const std::string escaped, canonical_segment(segment));
      canonical += escaped;
    } else {
      canonical += segment;
    }
  }
  return canonical;
}

Result<std::string> canonical_authority(const std::string& scheme, std::string_view text) {
  if (text.empty()) return bad_place("it has no host");
  if (scheme == "s3") {
    if (is_bucket(text)) return std::string(text);
    return bad_place("that is no name of a bucket");
  }
  if (text.find('@') != std::string_view::npos)
    return bad_place("it holds a user name or password, which messages would show");
  CUBINET_TRY_ASSIGN(const HostPort host, HostPort::parse(text));
  // The default port of a registry without TLS is 80. Accepting it here would give the location two
  // forms.
  if (scheme == "oci" && host.port == 80)
    return bad_place("port 80 is that of a registry without TLS: leave it out, and allow plain HTTP");
  return host.to_string(scheme == "http" ? 80 : 443);
}

Result<ServerPlace> parse_place(std::string_view text, bool is_prefix) {
  const std::size_t colon = text.find("://");
  ServerPlace place;
  place.scheme = lower_case(text.substr(0, std::min(colon, text.size())));
  constexpr std::array<std::string_view, 4> kSchemes = {"https", "http", "oci", "s3"};
  if (colon == std::string_view::npos ||
      std::find(kSchemes.begin(), kSchemes.end(), place.scheme) == kSchemes.end())
    return bad_place("its scheme is none of https, http, s3 and oci");
  std::string_view rest = text.substr(colon + 3);
  if (rest.find_first_of("?#") != std::string_view::npos)
    return bad_place("it has a '?' or a '#' in its path");
  const std::string_view authority = rest.substr(0, rest.find('/'));
  rest.remove_prefix(std::min(authority.size() + 1, rest.size()));
  CUBINET_TRY_ASSIGN(place.authority, canonical_authority(place.scheme, authority));
  if (place.scheme != "oci") {
    CUBINET_TRY_ASSIGN(place.path, canonical_path(rest, place.scheme != "s3"));
    return place;
  }
  if (rest.size() > 1 && rest.ends_with('/')) rest.remove_suffix(1);
  if (!is_repository_name(rest) && !(is_prefix && rest.empty()))
    return bad_place("a registry has names of small letters, digits and single '.', '_', '-' and '/'");
  place.path = rest;
  return place;
}

}  // namespace

Result<ServerPlace> ServerPlace::parse(std::string_view text) {
  return parse_place(text, false);
}

Result<ServerPlace> ServerPlace::parse_prefix(std::string_view text) {
  return parse_place(text, true);
}

std::string ServerPlace::to_string() const {
  return scheme + "://" + authority + (path.empty() ? "" : "/" + path);
}

bool is_url(std::string_view text) {
  const std::string scheme = lower_case(text.substr(0, text.find("://")));
  return !scheme.empty() && scheme.size() < text.size() && scheme.front() >= 'a' && scheme.front() <= 'z' &&
         std::all_of(scheme.begin(), scheme.end(),
                     [](char c) { return is_lower_or_digit(c) || c == '+' || c == '-' || c == '.'; });
}

}  // namespace cubinet
