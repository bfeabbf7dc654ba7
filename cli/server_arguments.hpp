// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "context.hpp"

#include <cubinet/distribution/content_server.hpp>
#include <cubinet/distribution/file_server.hpp>
#include <cubinet/distribution/server_reference.hpp>
#include <cubinet/transport/http_client.hpp>

#include <CLI/App.hpp>

#include <string>
#include <vector>

namespace cubinet::cli {

// How servers are asked, as a line says it.
struct ServerOptions {
  std::vector<std::string> plain_http;
  std::string authorities;
  std::string client_certificate;
  std::string client_key;
  std::string user;
  std::string password_file;
  std::string s3_endpoint;
  bool offline = false;
};

// --plain-http, --ca, --cert, --cert-key, --user, --password-file, --endpoint and --offline.
void add_server_options(CLI::App& verb, ServerOptions& options);

// Servers, and the connections to them, which are kept for as long as this lives.
struct OpenServers {
  std::shared_ptr<HttpClient> client;
  HttpClient::Session session;
  std::shared_ptr<ContentServer> server;
};

// The servers of these references as one, each a mirror of the first. What the environment says of proxies,
// AWS and docker counts where the line does not.
Result<OpenServers> open_servers(const Context& context, const ServerOptions& options,
                                 const std::vector<ServerReference>& references);

// The same of files by name. `cancelled` ends a request that is waited for.
struct OpenFileServers {
  std::shared_ptr<HttpClient> client;
  HttpClient::Session session;
  std::shared_ptr<FileServer> server;
};
Result<OpenFileServers> open_file_servers(const Context& context, const ServerOptions& options,
                                          const std::vector<ServerReference>& references,
                                          Callback<bool()> cancelled);

}  // namespace cubinet::cli
