// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/file_system.hpp>
#include <cubinet/distribution/server_access.hpp>
#include <cubinet/session/servers.hpp>
#include <cubinet/trust/server_place.hpp>

#include <filesystem>

namespace cubinet {

Result<void> check_names_bundle(const ServerReference& reference) {
  if (!reference.channel.empty() || reference.digest) return {};
  return Error{ErrorCode::invalid_argument,
               "'" + reference.to_string() + "' names a server and no bundle on it",
               "name a channel (#CHANNEL, oci with :CHANNEL) or a manifest (@sha256:DIGEST)"};
}

Result<ServerReference> parse_channel(const std::string& reference) {
  CUBINET_TRY_ASSIGN(ServerReference parsed, ServerReference::parse(reference));
  if (parsed.channel.empty())
    return Error{ErrorCode::invalid_argument, "'" + reference + "' names no channel",
                 "name one: #CHANNEL, oci with :CHANNEL"};
  return parsed;
}

Result<ServerReference> parse_destination(const std::string& reference) {
  CUBINET_TRY_ASSIGN(ServerReference parsed, ServerReference::parse(reference));
  if (parsed.digest)
    return Error{ErrorCode::invalid_argument,
                 "'" + reference + "' names a manifest, which the bundle determines",
                 "name a channel, or only the server"};
  std::error_code unknown;
  const bool may_be_created = parsed.layout != ServerReference::Layout::folder || is_url(reference);
  if (may_be_created || std::filesystem::is_directory(parsed.path, unknown)) return parsed;
  return Error{ErrorCode::not_found, "there is no folder '" + parsed.path + "'",
               "create it, or write " + parsed.to_full_string() +
                   " to have it created; a server begins with its "
                   "scheme: https://, s3://, oci://"};
}

Result<OpenServers<ContentServer>> open_servers(const ServerAccess& access,
                                                const std::vector<ServerReference>& references,
                                                Callback<bool()> cancelled) {
  HttpSettings settings = http_settings(access);
  settings.cancelled = std::move(cancelled);
  const auto client = std::make_shared<HttpClient>(std::move(settings));
  CUBINET_TRY_ASSIGN(auto server, connect_all(references, client, posix_file_system(), access));
  return OpenServers<ContentServer>{client, HttpClient::Session(*client), std::move(server)};
}

Result<OpenServers<FileServer>> open_file_servers(const ServerAccess& access,
                                                  const std::vector<ServerReference>& references,
                                                  Callback<bool()> cancelled) {
  HttpSettings settings = http_settings(access);
  settings.cancelled = std::move(cancelled);
  const auto client = std::make_shared<HttpClient>(std::move(settings));
  CUBINET_TRY_ASSIGN(const ServerCredentials credentials, credentials_of(access));
  CUBINET_TRY_ASSIGN(auto server, connect_files(references, client, posix_file_system(), credentials));
  return OpenServers<FileServer>{client, HttpClient::Session(*client), std::move(server)};
}

}  // namespace cubinet
