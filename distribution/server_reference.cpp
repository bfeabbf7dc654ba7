// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/absolute_path.hpp>
#include <cubinet/base/text.hpp>
#include <cubinet/distribution/server_reference.hpp>
#include <cubinet/trust/server_place.hpp>

#include <algorithm>

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
    CUBINET_TRY_ASSIGN(const std::filesystem::path folder, absolute_path(rest));
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
  const std::string server = layout == Layout::folder ? "file://" + path : to_string();
  if (digest) return server + "@sha256:" + digest->to_hex();
  if (channel.empty()) return server;
  return server + (layout == Layout::oci ? ":" : "#") + channel;
}

}  // namespace cubinet
