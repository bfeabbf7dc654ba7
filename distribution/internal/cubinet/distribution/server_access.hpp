// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/distribution/connect.hpp>
#include <cubinet/distribution/server.hpp>

#include <memory>
#include <vector>

namespace cubinet {

// Returns the settings of an HTTP client for this access. No other code makes them.
HttpSettings http_settings(const ServerAccess& access);
// Returns the credentials to connect with. Returns an error (invalid_argument) for a user without a
// password.
Result<ServerCredentials> credentials_of(const ServerAccess& access);

// Connects to the servers of these references and joins them into one server; each is a mirror of
// the first. Returns the errors of connect(). REQUIRES: at least one reference.
Result<std::shared_ptr<ContentServer>> connect_all(const std::vector<ServerReference>& references,
                                                   const std::shared_ptr<HttpClient>& client,
                                                   const std::shared_ptr<FileSystem>& files,
                                                   const ServerAccess& access);

}  // namespace cubinet
