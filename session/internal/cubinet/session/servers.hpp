// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/callback.hpp>
#include <cubinet/distribution/content_server.hpp>
#include <cubinet/distribution/file_server.hpp>
#include <cubinet/distribution/server.hpp>
#include <cubinet/distribution/server_reference.hpp>
#include <cubinet/transport/http_client.hpp>

#include <memory>
#include <string>
#include <vector>

namespace cubinet {

// Servers and the connections to them, which stay open as long as this object lives.
template <class Server>
struct OpenServers {
  std::shared_ptr<HttpClient> client;
  HttpClient::Session connections;
  std::shared_ptr<Server> server;
};

// Returns invalid_argument for a reference that names neither a channel nor a manifest.
Result<void> check_names_bundle(const ServerReference& reference);

// Parses the reference of a channel. Returns invalid_argument if it names none.
Result<ServerReference> parse_channel(const std::string& reference);

// Parses the reference of a server that a bundle is written to. Returns invalid_argument if it
// names a manifest, not_found for a folder without file:// that does not exist: it may be a
// mistyped server.
Result<ServerReference> parse_destination(const std::string& reference);

// Opens the servers of these references as one server; each is a mirror of the first. Does not
// contact them yet. If `cancelled` returns true, a request in progress ends.
Result<OpenServers<ContentServer>> open_servers(const ServerAccess& access,
                                                const std::vector<ServerReference>& references,
                                                Callback<bool()> cancelled = {});
// Like open_servers, for files by name.
Result<OpenServers<FileServer>> open_file_servers(const ServerAccess& access,
                                                  const std::vector<ServerReference>& references,
                                                  Callback<bool()> cancelled);

}  // namespace cubinet
