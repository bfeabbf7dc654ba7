// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "context.hpp"

#include <cubinet/distribution/content_server.hpp>
#include <cubinet/distribution/file_server.hpp>
#include <cubinet/distribution/server_reference.hpp>
#include <cubinet/transport/http_client.hpp>

#include <CLI/App.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet::cli {

// --plain-http, --ca, --cert, --cert-key, --user, --password-file, --endpoint and --offline.
void add_server_options(CLI::App& verb, ServerArguments& options);
// --bundle, and how it is asked for where that is a server.
void add_places(CLI::App& verb, Places& places);

// --cache; with how its entries are signed, of verbs that compile.
void add_cache(CLI::App& verb, Places& places);
void add_written_cache(CLI::App& verb, Places& places);

// Servers, and the connections to them, which are kept for as long as this lives.
struct OpenServers {
  std::shared_ptr<HttpClient> client;
  HttpClient::Session session;
  std::shared_ptr<ContentServer> server;
};

// The servers of these references as one, each a mirror of the first. What the environment says of proxies,
// AWS and docker counts where the line does not.
Result<OpenServers> open_servers(const Context& context, const ServerArguments& options,
                                 const std::vector<ServerReference>& references);

// What the policy says of a server; nullopt where it says nothing.
Result<std::optional<TrustPolicy>> server_policy(const Context& context, const ServerReference& reference);

// Whether a text names a server, and no file of this machine.
bool names_server(std::string_view text);
// The bundle on a server as a store, which asks nothing yet; what arrives is kept in the home.
Result<std::shared_ptr<Store>> open_server(const Context& context, const ServerArguments& options,
                                           const std::string& reference, std::shared_ptr<Home> home);
// The cache of builds, which is asked nothing yet.
Result<std::shared_ptr<Store>> open_cache(const Context& context, const Places& places,
                                          std::shared_ptr<Home> home);
// The same of files by name. `cancelled` ends a request that is waited for.
struct OpenFileServers {
  std::shared_ptr<HttpClient> client;
  HttpClient::Session session;
  std::shared_ptr<FileServer> server;
};
Result<OpenFileServers> open_file_servers(const Context& context, const ServerArguments& options,
                                          const std::vector<ServerReference>& references,
                                          Callback<bool()> cancelled);

}  // namespace cubinet::cli
