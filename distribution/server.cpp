// SPDX-License-Identifier: Apache-2.0
#include <cubinet/distribution/connect.hpp>
#include <cubinet/distribution/mirrors.hpp>
#include <cubinet/distribution/remote_cache.hpp>
#include <cubinet/distribution/server.hpp>
#include <cubinet/distribution/server_store.hpp>

namespace cubinet {

namespace {

std::shared_ptr<HttpClient> client_of(const ServerOptions& options) {
  HttpSettings settings;
  settings.offline = options.offline;
  settings.plain_http = options.plain_http;
  settings.authorities_file = options.authorities_file;
  settings.client_certificate = options.client_certificate;
  settings.client_key = options.client_key.empty() ? options.client_certificate : options.client_key;
  settings.proxy = options.proxy;
  return std::make_shared<HttpClient>(on_demand(std::move(settings)));
}

ServerCredentials credentials_of(const ServerOptions& options) {
  ServerCredentials credentials;
  if (!options.user.empty()) credentials.basic = BasicCredentials{options.user, options.password};
  credentials.bearer = options.token;
  return credentials;
}

}  // namespace

Result<std::shared_ptr<Store>> open_server(const ServerOptions& options) {
  const ServerCredentials credentials = credentials_of(options);
  ServerStoreOptions store;
  store.client = client_of(options);
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

Result<std::shared_ptr<Store>> open_cache(const ServerOptions& options, const std::string& secret_key_file,
                                          const std::string& secret_key_password) {
  if (!options.mirrors.empty())
    return Error{ErrorCode::invalid_argument, "a cache has no mirrors", "name several as several stores"};
  RemoteCacheOptions cache;
  cache.reference = options.reference;
  cache.client = client_of(options);
  cache.credentials = credentials_of(options);
  cache.policy = options.policy;
  if (!secret_key_file.empty()) {
    std::optional<SecretBytes> password;
    if (!secret_key_password.empty()) {
      const ByteView text = as_bytes(secret_key_password);
      password.emplace(Bytes(text.begin(), text.end()));
    }
    CUBINET_TRY_ASSIGN(cache.writer, read_secret_key(*posix_file_system(), secret_key_file,
                                                     password ? &*password : nullptr));
  }
  cache.home = options.home;
  cache.log = options.log;
  return open_remote_cache(std::move(cache));
}

}  // namespace cubinet
