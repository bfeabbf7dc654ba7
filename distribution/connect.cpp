// SPDX-License-Identifier: Apache-2.0
#include "http_place.hpp"

#include <cubinet/base/host_port.hpp>
#include <cubinet/distribution/folder_server.hpp>
#include <cubinet/distribution/oci_registry.hpp>
#include <cubinet/distribution/static_server.hpp>

namespace cubinet {
namespace {

Result<HttpPlace> bucket_place(const ServerReference& reference, const std::shared_ptr<FileSystem>& files,
                               const ServerCredentials& credentials) {
  CUBINET_TRY_ASSIGN(const AwsProfile profile, credentials.aws
                                                   ? Result<AwsProfile>(AwsProfile{credentials.aws, {}})
                                                   : read_aws_profile(*files, credentials.aws_profile));
  std::string region = credentials.aws_region.empty() ? profile.region : credentials.aws_region;
  if (region.empty()) region = "us-east-1";
  const std::string& bucket = reference.authority;
  // A certificate for *.s3.… does not cover a bucket name with dots.
  const bool in_path = !credentials.s3_endpoint.empty() || bucket.find('.') != std::string::npos;
  const std::string host = "s3." + region + ".amazonaws.com";
  CUBINET_TRY_ASSIGN(Url base, Url::parse(!credentials.s3_endpoint.empty() ? credentials.s3_endpoint
                                          : in_path                        ? "https://" + host
                                                    : "https://" + bucket + "." + host));
  if (in_path) base = base.below(percent_encode(bucket, Slashes::encoded));
  if (!reference.path.empty()) base = base.below(percent_encode(reference.path, Slashes::stay));
  std::shared_ptr<Authorizer> authorizer;
  if (profile.credentials) {
    // Read again for each request, because temporary credentials are replaced in the file.
    authorizer = std::make_shared<S3Signer>(
        [files, credentials]() -> Result<AwsCredentials> {
          if (credentials.aws) return *credentials.aws;
          CUBINET_TRY_ASSIGN(const AwsProfile now, read_aws_profile(*files, credentials.aws_profile));
          if (now.credentials) return *now.credentials;
          return Error{ErrorCode::unavailable,
                       "the profile '" + credentials.aws_profile.profile + "' has no keys any more"};
        },
        region);
  }
  return HttpPlace{std::move(base), std::move(authorizer)};
}

// Returns the URL of a registry: with http:// if the settings allow that for its host and port.
Result<Url> registry_url(const HttpSettings& settings, const std::string& authority) {
  CUBINET_TRY_ASSIGN(const HostPort host, HostPort::parse(authority));
  const bool plain = allows_plain_http(settings, host.host, host.port.value_or(80));
  return Url::parse((plain ? "http://" : "https://") + authority);
}

}  // namespace

Result<HttpPlace> http_place(const ServerReference& reference, const std::shared_ptr<FileSystem>& files,
                             const ServerCredentials& credentials) {
  if (reference.layout == ServerReference::Layout::s3) return bucket_place(reference, files, credentials);
  CUBINET_TRY_ASSIGN(Url base, Url::parse(reference.to_string()));
  std::shared_ptr<Authorizer> authorizer;
  if (!credentials.bearer.empty())
    authorizer = std::make_shared<FixedAuthorizer>(bearer_authorization(credentials.bearer));
  if (credentials.basic)
    authorizer = std::make_shared<FixedAuthorizer>(basic_authorization(*credentials.basic));
  return HttpPlace{std::move(base), std::move(authorizer)};
}

Result<std::shared_ptr<ContentServer>> connect(const ServerReference& reference,
                                               std::shared_ptr<HttpClient> client,
                                               std::shared_ptr<FileSystem> files,
                                               const ServerCredentials& credentials) {
  using Layout = ServerReference::Layout;
  if (reference.layout == Layout::folder) return open_folder_server(std::move(files), reference.path);
  if (reference.layout == Layout::oci) {
    CUBINET_TRY_ASSIGN(Url registry, registry_url(client->settings(), reference.authority));
    std::optional<RegistryCredentials> known;
    if (credentials.basic) {
      known = RegistryCredentials{*credentials.basic, {}};
    } else {
      CUBINET_TRY_ASSIGN(known, find_docker_credentials(*files, credentials.docker, reference.authority));
    }
    return open_oci_registry(std::move(client), std::move(registry), reference.path, std::move(known));
  }
  CUBINET_TRY_ASSIGN(HttpPlace place, http_place(reference, files, credentials));
  return open_static_server(std::move(client), std::move(place.base), std::move(place.authorizer));
}

}  // namespace cubinet
