// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/callback.hpp>
#include <cubinet/distribution/content_server.hpp>
#include <cubinet/distribution/file_server.hpp>
#include <cubinet/distribution/server.hpp>
#include <cubinet/distribution/server_reference.hpp>
#include <cubinet/transport/http_client.hpp>

#include <memory>
#include <vector>

namespace cubinet {

// Servers and the connections to them, which stay open as long as this object lives.
template <class Server>
struct OpenServers {
  std::shared_ptr<HttpClient> client;
  HttpClient::Session connections;
  std::shared_ptr<Server> server;
};

// Opens the servers of these references as one; each is a mirror of the first. None is contacted yet.
Result<OpenServers<ContentServer>> open_servers(const ServerAccess& access,
                                                const std::vector<ServerReference>& references);
// The same for files by name. `cancelled` ends a request that is in progress.
Result<OpenServers<FileServer>> open_file_servers(const ServerAccess& access,
                                                  const std::vector<ServerReference>& references,
                                                  Callback<bool()> cancelled);

}  // namespace cubinet
