// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/file_system.hpp>
#include <cubinet/distribution/server_access.hpp>
#include <cubinet/session/servers.hpp>

namespace cubinet {

Result<OpenServers<ContentServer>> open_servers(const ServerAccess& access,
                                                const std::vector<ServerReference>& references) {
  const auto client = std::make_shared<HttpClient>(http_settings(access));
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
