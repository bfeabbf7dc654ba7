// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/distribution/content_server.hpp>
#include <cubinet/distribution/server_reference.hpp>
#include <cubinet/transport/aws_profile.hpp>
#include <cubinet/transport/docker_credentials.hpp>
#include <cubinet/transport/http_client.hpp>

namespace cubinet {

// The credentials for servers. The caller reads the environment, not this module.
struct ServerCredentials {
  // For https and oci. Takes precedence over docker's configuration.
  std::optional<BasicCredentials> basic = {};
  std::string bearer = {};
  DockerConfiguration docker = {};
  // For s3. Takes precedence over the profile.
  std::optional<AwsCredentials> aws = {};
  AwsProfileFiles aws_profile = {};
  std::string aws_region = {};  // empty: the profile's, or us-east-1
  // The endpoint of an S3 store other than Amazon's: https://host[:port]. Buckets are then paths of
  // it.
  std::string s3_endpoint = {};
};

// Returns the server that a reference names, without contacting it. Contacts a registry by http://
// if the client's settings allow that for its host. Returns invalid_argument, unsupported or
// unavailable if the credentials cannot be read.
Result<std::shared_ptr<ContentServer>> connect(const ServerReference& reference,
                                               std::shared_ptr<HttpClient> client,
                                               std::shared_ptr<FileSystem> files,
                                               const ServerCredentials& credentials);

}  // namespace cubinet
