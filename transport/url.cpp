// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/host_port.hpp>
#include <cubinet/base/text.hpp>
#include <cubinet/transport/url.hpp>

#include <algorithm>

namespace cubinet {
namespace {

constexpr std::size_t kMaximumUrl = 8192;

Error bad_url(std::string_view text, std::string_view reason) {
  // The query and any part of a password are omitted.
  const std::size_t shown = std::min(text.find('?'), text.size());
  const bool secret = text.substr(0, shown).find('@') != std::string_view::npos;
  return Error{ErrorCode::invalid_argument,
               "'" + (secret ? "..." : printable(text.substr(0, shown), kQuotedBytes)) +
                   "' is no URL that can be asked: " + std::string(reason),
               "write it as https://host[:port]/path"};
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_url_character(char c) {
  return c > ' ' && c < '\x7f' && std::string_view("\"<>\\^`{|}").find(c) == std::string_view::npos;
}

// Returns "/a/c" for "/a/b/../c" (RFC 3986, 5.2.4). Applied only to relative references of a
// server.
std::string without_dot_segments(std::string_view path) {
  std::string result;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/', 1), path.size());
    const std::string_view segment = path.substr(0, end);
    path.remove_prefix(end);
    if (segment == "/." || segment == "/..") {
      if (segment == "/..") result.erase(std::min(result.rfind('/'), result.size()));
      if (path.empty()) result += '/';
    } else {
      result += segment;
    }
  }
  return result.empty() ? "/" : result;
}

}  // namespace

Result<Url> Url::parse(std::string_view text) {
  if (text.size() > kMaximumUrl) return bad_url(text, "it has more than 8192 characters");
  if (!std::all_of(text.begin(), text.end(), is_url_character))
    return bad_url(text, "it holds a character that has to be percent-encoded");
  const std::size_t colon = text.find("://");
  Url url;
  url.scheme = lower_case(text.substr(0, std::min(colon, text.size())));
  if (colon == std::string_view::npos || (url.scheme != "https" && url.scheme != "http"))
    return bad_url(text, "it begins with neither https:// nor http://");
  std::string_view rest = text.substr(colon + 3);
  rest = rest.substr(0, rest.find('#'));
  const std::size_t authority_end = std::min(rest.find_first_of("/?"), rest.size());
  const std::string_view authority = rest.substr(0, authority_end);
  rest.remove_prefix(authority_end);
  if (authority.find('@') != std::string_view::npos)
    return bad_url(text, "a user name or password in it would be shown wherever the URL is");
  auto asked = HostPort::parse(authority);
  if (!asked) return bad_url(text, asked.error().message);
  url.host = std::move(asked->host);
  url.port = asked->port.value_or(url.scheme == "https" ? 443 : 80);
  const std::size_t question = std::min(rest.find('?'), rest.size());
  if (question != 0) url.path = rest.substr(0, question);
  if (question < rest.size()) url.query = rest.substr(question + 1);
  return url;
}

Result<Url> Url::resolve(std::string_view reference) const {
  reference = reference.substr(0, reference.find('#'));
  const std::size_t mark = reference.find_first_of(":/?");
  if (mark != std::string_view::npos && reference[mark] == ':') return parse(reference);
  if (reference.starts_with("//")) return parse(scheme + ":" + std::string(reference));
  if (!std::all_of(reference.begin(), reference.end(), is_url_character) || reference.size() > kMaximumUrl)
    return bad_url(reference, "it holds a character that has to be percent-encoded");
  Url url = *this;
  const std::size_t question = std::min(reference.find('?'), reference.size());
  const std::string_view where = reference.substr(0, question);
  if (!where.empty()) {
    url.path = without_dot_segments(
        where.front() == '/' ? std::string(where) : path.substr(0, path.rfind('/') + 1) + std::string(where));
    url.query.clear();
  }
  if (question < reference.size()) url.query = reference.substr(question + 1);
  return url;
}

Url Url::below(std::string_view more) const {
  Url url = *this;
  if (!url.path.ends_with('/')) url.path += '/';
  url.path += more;
  return url;
}

std::string Url::authority() const {
  return HostPort{host, port}.to_string(scheme == "https" ? 443 : 80);
}

std::string Url::for_people() const {
  return scheme + "://" + authority() + path;
}

std::string Url::to_string() const {
  return for_people() + (query.empty() ? "" : "?" + query);
}

std::string percent_encode(std::string_view text, Slashes slashes) {
  std::string encoded;
  for (const char c : text) {
    const bool plain = is_letter(c) || is_digit(c) || c == '-' || c == '.' || c == '_' || c == '~' ||
                       (c == '/' && slashes == Slashes::stay);
    if (plain) {
      encoded += c;
    } else {
      constexpr std::string_view digits = "0123456789ABCDEF";
      const auto value = static_cast<unsigned char>(c);
      encoded += '%';
      encoded += digits[value >> 4];
      encoded += digits[value & 15];
    }
  }
  return encoded;
}

}  // namespace cubinet
