// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/text.hpp>
#include <cubinet/distribution/server_reference.hpp>

#include <algorithm>

namespace cubinet {
namespace {

Error bad_reference(std::string_view text, std::string_view reason) {
  return Error{ErrorCode::invalid_argument,
               "'" + printable(text, kQuotedBytes) + "' names no server: " + std::string(reason),
               "write https://host/folder, s3://bucket/prefix, oci://host/name:tag or the path of a folder"};
}

bool is_lower_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

// distribution-spec: components of [a-z0-9]+ with single separators between, joined by '/'.
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

bool is_bucket(std::string_view name) {
  return name.size() >= 3 && name.size() <= 63 && is_lower_or_digit(name.front()) &&
         is_lower_or_digit(name.back()) && name.find("..") == std::string_view::npos &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return is_lower_or_digit(c) || c == '-' || c == '.'; });
}

}  // namespace

Result<void> check_channel(std::string_view channel) {
  const bool good = !channel.empty() && channel.size() <= 128 && is_word_character(channel.front()) &&
                    std::all_of(channel.begin(), channel.end(),
                                [](char c) { return is_word_character(c) || c == '.' || c == '-'; });
  if (good) return {};
  return Error{ErrorCode::invalid_argument,
               "'" + printable(channel, kQuotedBytes) + "' is no name of a channel",
               "use up to 128 letters, digits, '_', '.' and '-', the first neither '.' nor '-'"};
}

Result<ServerReference> ServerReference::parse(std::string_view text) {
  ServerReference reference;
  std::string_view rest = text;
  const std::size_t colon = text.find("://");
  if (colon == std::string_view::npos) {
    if (text.empty()) return bad_reference(text, "it is empty");
    reference.path = text;
  }
  constexpr std::string_view mark = "@sha256:";
  if (const std::size_t at = rest.rfind(mark); at != std::string_view::npos) {
    auto digest = Sha256Digest::parse(rest.substr(at + mark.size()));
    if (!digest) return bad_reference(text, "behind '@sha256:' stand no 64 hexadecimal digits");
    reference.digest = *digest;
    rest = rest.substr(0, at);
  }
  if (colon == std::string_view::npos) {
    reference.path = rest;
    return reference;
  }
  const std::string_view scheme = rest.substr(0, colon);
  rest.remove_prefix(colon + 3);
  const bool oci = scheme == "oci";
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  const std::size_t channel = oci ? rest.find(':', slash) : rest.find('#');
  if (channel != std::string_view::npos) {
    if (reference.digest) return bad_reference(text, "it has both a channel and a digest");
    reference.channel = rest.substr(channel + 1);
    CUBINET_TRY(check_channel(reference.channel));
    rest = rest.substr(0, channel);
  }
  reference.authority = rest.substr(0, std::min(rest.find('/'), rest.size()));
  rest.remove_prefix(reference.authority.size());
  if (rest.find_first_of("?#") != std::string_view::npos)
    return bad_reference(text, "it has a '?' or a '#' in its path");
  while (rest.ends_with('/'))
    rest.remove_suffix(1);
  if (scheme == "file") {
    if (!reference.authority.empty() || rest.empty())
      return bad_reference(text, "a file:// is of this machine");
    reference.path = rest;
    return reference;
  }
  if (reference.authority.empty()) return bad_reference(text, "it has no host");
  if (rest.starts_with('/')) rest.remove_prefix(1);
  reference.path = rest;
  if (scheme == "s3") {
    reference.layout = Layout::s3;
    if (!is_bucket(reference.authority)) return bad_reference(text, "that is no name of a bucket");
  } else if (oci) {
    reference.layout = Layout::oci;
    reference.scheme = "https";
    if (!is_repository_name(reference.path))
      return bad_reference(text,
                           "a registry has names of small letters, digits and single '.', '_', '-' and '/'");
  } else if (scheme == "https" || scheme == "http") {
    reference.layout = Layout::https;
    reference.scheme = scheme;
  } else {
    return bad_reference(text, "its scheme is none of https, s3, oci and file");
  }
  return reference;
}

std::string ServerReference::to_string() const {
  switch (layout) {
    case Layout::folder:
      return path;
    case Layout::s3:
      return "s3://" + authority + (path.empty() ? "" : "/" + path);
    case Layout::oci:
      return "oci://" + authority + "/" + path;
    case Layout::https:
      return scheme + "://" + authority + (path.empty() ? "" : "/" + path);
  }
  return path;
}

std::string ServerReference::to_full_string() const {
  const std::string server = layout == Layout::folder ? "file://" + path : to_string();
  if (digest) return server + "@sha256:" + digest->to_hex();
  if (channel.empty()) return server;
  return server + (layout == Layout::oci ? ":" : "#") + channel;
}

}  // namespace cubinet
