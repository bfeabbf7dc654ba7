// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/distribution/content_server.hpp>
#include <cubinet/transport/http_client.hpp>

namespace cubinet {

// Opens an HTTP server of plain files: blobs/sha256/<digest> and refs/<channel> below `base`.
// Writes use PUT, which WebDAV and S3 support. With an S3Signer as authorizer, it is a bucket.
std::shared_ptr<ContentServer> open_static_server(std::shared_ptr<HttpClient> client, Url base,
                                                  std::shared_ptr<Authorizer> authorizer);

}  // namespace cubinet
