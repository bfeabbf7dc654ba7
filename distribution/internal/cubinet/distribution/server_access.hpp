// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/distribution/connect.hpp>
#include <cubinet/distribution/server.hpp>

#include <memory>
#include <vector>

namespace cubinet {

// Returns the settings of an HTTP client for this access. This is the only place that makes them.
HttpSettings http_settings(const ServerAccess& access);
// Returns the credentials to connect with. invalid_argument for a user without a password.
Result<ServerCredentials> credentials_of(const ServerAccess& access);

// Connects to the servers of these references and joins them into one server; each is a mirror of the first.
// REQUIRES: at least one reference. Errors are those of connect().
Result<std::shared_ptr<ContentServer>> connect_all(const std::vector<ServerReference>& references,
                                                   const std::shared_ptr<HttpClient>& client,
                                                   const std::shared_ptr<FileSystem>& files,
                                                   const ServerAccess& access);

}  // namespace cubinet
