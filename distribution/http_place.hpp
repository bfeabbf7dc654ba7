// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/distribution/connect.hpp>

namespace cubinet {

// The base URL of a static server or bucket, and its authorizer. If the second is null, requests
// have no credentials.
struct HttpPlace {
  Url base;
  std::shared_ptr<Authorizer> authorizer;
};

// Returns the location of an https or s3 reference.
Result<HttpPlace> http_place(const ServerReference& reference, const std::shared_ptr<FileSystem>& files,
                             const ServerCredentials& credentials);

}  // namespace cubinet
