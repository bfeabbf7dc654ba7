// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/distribution/connect.hpp>

namespace cubinet {

// Below which URL a static server or a bucket is asked, and who asks; nobody in particular where the second
// is null.
struct HttpPlace {
  Url base;
  std::shared_ptr<Authorizer> authorizer;
};

// Of a reference to one of https or s3.
Result<HttpPlace> http_place(const ServerReference& reference, const std::shared_ptr<FileSystem>& files,
                             const ServerCredentials& credentials);

}  // namespace cubinet
