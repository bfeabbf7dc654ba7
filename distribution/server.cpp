// SPDX-License-Identifier: Apache-2.0
#include <cubinet/distribution/connect.hpp>
#include <cubinet/distribution/mirrors.hpp>
#include <cubinet/distribution/server.hpp>
#include <cubinet/distribution/server_store.hpp>

namespace cubinet {

Result<std::shared_ptr<Store>> open_server(const ServerOptions& options) {
  HttpSettings settings;
  settings.offline = options.offline;
  settings.plain_http = options.plain_http;
  settings.authorities_file = options.authorities_file;
  settings.client_certificate = options.client_certificate;
  settings.client_key = options.client_key.empty() ? options.client_certificate : options.client_key;
  settings.proxy = options.proxy;
  ServerCredentials credentials;
  if (!options.user.empty()) credentials.basic = BasicCredentials{options.user, options.password};
  credentials.bearer = options.token;

  ServerStoreOptions store;
  store.client = std::make_shared<HttpClient>(on_demand(std::move(settings)));
  store.files = posix_file_system();
  CUBINET_TRY_ASSIGN(store.reference, ServerReference::parse(options.reference));
  std::vector<std::shared_ptr<ContentServer>> servers;
  CUBINET_TRY_ASSIGN(servers.emplace_back(),
                     connect(store.reference, store.client, store.files, credentials));
  for (const std::string& mirror : options.mirrors) {
    CUBINET_TRY_ASSIGN(const ServerReference reference, ServerReference::parse(mirror));
    CUBINET_TRY_ASSIGN(servers.emplace_back(), connect(reference, store.client, store.files, credentials));
  }
  store.server = join_mirrors(std::move(servers));
  store.home = options.home;
  store.policy = options.policy;
  store.offline = options.offline;
  store.log = options.log;
  return open_server_store(std::move(store));
}

}  // namespace cubinet
