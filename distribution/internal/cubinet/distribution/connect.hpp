// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/distribution/content_server.hpp>
#include <cubinet/distribution/server_reference.hpp>
#include <cubinet/transport/aws_profile.hpp>
#include <cubinet/transport/docker_credentials.hpp>
#include <cubinet/transport/http_client.hpp>

namespace cubinet {

// Who asks. What stands in the environment is said by whoever reads it.
struct ServerCredentials {
  // For https and oci; before what docker's configuration knows.
  std::optional<BasicCredentials> basic = {};
  std::string bearer = {};
  DockerConfiguration docker = {};
  // For s3; before what the profile says.
  std::optional<AwsCredentials> aws = {};
  AwsProfileFiles aws_profile = {};
  std::string aws_region = {};  // empty: the profile's, or us-east-1
  // Of a store that is not Amazon's: https://host[:port]. Buckets are then paths of it.
  std::string s3_endpoint = {};
};

// The server that a reference names; nothing is asked of it yet. A registry is asked by http:// where the
// client's settings allow that for its host. invalid_argument, unsupported and unavailable as those who read
// the credentials say.
Result<std::shared_ptr<ContentServer>> connect(const ServerReference& reference,
                                               std::shared_ptr<HttpClient> client,
                                               std::shared_ptr<FileSystem> files,
                                               const ServerCredentials& credentials);

}  // namespace cubinet
