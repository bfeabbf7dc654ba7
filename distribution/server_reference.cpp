// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/absolute_path.hpp>
#include <cubinet/base/text.hpp>
#include <cubinet/distribution/server_reference.hpp>
#include <cubinet/trust/server_place.hpp>

#include <algorithm>
#include <optional>

namespace cubinet {
namespace {

Error bad_reference(std::string_view text, std::string_view reason) {
  const std::size_t at = text.find('@');
  const bool secret = at != std::string_view::npos && !text.substr(at).starts_with("@sha256:");
  return Error{
      ErrorCode::invalid_argument,
      "'" + (secret ? "..." : printable(text, kQuotedBytes)) + "' names no server: " + std::string(reason),
      "write https://host/folder, s3://bucket/prefix, oci://host/name:tag or the path of a folder"};
}

int hexadecimal(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char small = static_cast<char>(c | 0x20);
  return small >= 'a' && small <= 'f' ? small - 'a' + 10 : -1;
}

// Returns the path of a file:// URL without its escapes, or nullopt if one of them is none, or
// stands for a slash or a zero byte.
std::optional<std::string> decoded_path(std::string_view text) {
  std::string path;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      path += text[at];
      continue;
    }
    const int high = at + 2 < text.size() ? hexadecimal(text[at + 1]) : -1;
    const int low = high < 0 ? -1 : hexadecimal(text[at + 2]);
    const int value = high * 16 + low;
    if (low < 0 || value == 0 || value == '/') return std::nullopt;
    path += static_cast<char>(value);
    at += 2;
  }
  return path;
}

// Returns the path as file:// writes it: parse() reads the same path from it.
std::string encoded_path(std::string_view path) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string text;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte > 0x20 && byte != 0x7f && c != '%' && c != '#' && c != '@') {
      text += c;
      continue;
    }
    text += '%';
    text += kDigits[byte / 16];
    text += kDigits[byte % 16];
  }
  return text;
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
  constexpr std::string_view mark = "@sha256:";
  if (const std::size_t at = rest.rfind(mark); at != std::string_view::npos) {
    auto digest = Sha256Digest::parse(rest.substr(at + mark.size()));
    if (!digest) return bad_reference(text, "behind '@sha256:' stand no 64 hexadecimal digits");
    reference.digest = *digest;
    rest = rest.substr(0, at);
  }
  const bool is_server = is_url(rest);
  const std::string scheme = is_server ? lower_case(rest.substr(0, rest.find("://"))) : "";
  const std::size_t channel =
      scheme == "oci" ? rest.find(':', rest.find('/', scheme.size() + 3)) : rest.find('#');
  if (channel != std::string_view::npos) {
    if (reference.digest) return bad_reference(text, "it has both a channel and a digest");
    reference.channel = rest.substr(channel + 1);
    CUBINET_TRY(check_channel(reference.channel));
    rest = rest.substr(0, channel);
  }
  if (!is_server || scheme == "file") {
    if (is_server) rest.remove_prefix(scheme.size() + 3);
    if (rest.empty()) return bad_reference(text, "it is empty");
    if (is_server && (!rest.starts_with('/') || rest.find_first_not_of('/') == std::string_view::npos))
      return bad_reference(text, "a file:// is a folder of this machine");
    const auto plain = is_server ? decoded_path(rest) : std::string(rest);
    if (!plain) return bad_reference(text, "a '%' of a file:// begins an escape (%20), never of '/'");
    CUBINET_TRY_ASSIGN(const std::filesystem::path folder, absolute_path(*plain));
    reference.path = folder.string();
    return reference;
  }
  auto place = ServerPlace::parse(rest);
  if (!place) return bad_reference(text, place.error().message);
  reference.layout = scheme == "s3" ? Layout::s3 : scheme == "oci" ? Layout::oci : Layout::https;
  if (reference.layout != Layout::s3) reference.scheme = scheme == "oci" ? "https" : scheme;
  reference.authority = std::move(place->authority);
  reference.path = std::move(place->path);
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
  const std::string server = layout == Layout::folder ? "file://" + encoded_path(path) : to_string();
  if (digest) return server + "@sha256:" + digest->to_hex();
  if (channel.empty()) return server;
  return server + (layout == Layout::oci ? ":" : "#") + channel;
}

Result<std::vector<ServerReference>> parse_references(const std::string& reference,
                                                      const std::vector<std::string>& mirrors) {
  std::vector<ServerReference> references;
  CUBINET_TRY_ASSIGN(references.emplace_back(), ServerReference::parse(reference));
  for (const std::string& mirror : mirrors) {
    CUBINET_TRY_ASSIGN(ServerReference parsed, ServerReference::parse(mirror));
    if (!parsed.channel.empty() || parsed.digest)
      return Error{ErrorCode::invalid_argument, "the mirror '" + mirror + "' names a channel or a manifest",
                   "name only the server: the first reference names the bundle"};
    references.push_back(std::move(parsed));
  }
  return references;
}

}  // namespace cubinet
