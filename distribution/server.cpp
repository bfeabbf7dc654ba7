// SPDX-License-Identifier: Apache-2.0
#include <cubinet/distribution/remote_cache.hpp>
#include <cubinet/distribution/server.hpp>
#include <cubinet/distribution/server_access.hpp>
#include <cubinet/distribution/server_store.hpp>

namespace cubinet {

namespace {

std::shared_ptr<HttpClient> client_of(const ServerOptions& options) {
  return std::make_shared<HttpClient>(on_demand(http_settings(options.access)));
}

}  // namespace

Result<std::shared_ptr<Store>> open_server(const ServerOptions& options) {
  ServerStoreOptions store;
  store.client = client_of(options);
  store.files = posix_file_system();
  CUBINET_TRY_ASSIGN(const auto references, parse_references(options.reference, options.mirrors));
  store.reference = references.front();
  CUBINET_TRY_ASSIGN(store.server, connect_all(references, store.client, store.files, options.access));
  store.home = options.home;
  store.policy = options.policy;
  store.offline = options.access.offline;
  store.log = options.log;
  return open_server_store(std::move(store));
}

Result<std::shared_ptr<BuildCache>> open_cache(const ServerOptions& options,
                                               const std::string& secret_key_file,
                                               const std::string& secret_key_password) {
  if (!options.mirrors.empty())
    return Error{ErrorCode::invalid_argument, "a cache has no mirrors", "name several as several caches"};
  RemoteCacheOptions cache;
  cache.reference = options.reference;
  cache.client = client_of(options);
  CUBINET_TRY_ASSIGN(cache.credentials, credentials_of(options.access));
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
