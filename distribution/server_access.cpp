// SPDX-License-Identifier: Apache-2.0
#include <cubinet/distribution/mirrors.hpp>
#include <cubinet/distribution/server_access.hpp>

namespace cubinet {

HttpSettings http_settings(const ServerAccess& access) {
  HttpSettings settings;
  settings.offline = access.offline;
  settings.plain_http = access.plain_http;
  settings.authorities_file = access.authorities_file;
  settings.client_certificate = access.client_certificate;
  settings.client_key = access.client_key.empty() ? access.client_certificate : access.client_key;
  settings.proxy = access.proxy;
  settings.no_proxy = access.no_proxy;
  settings.user_agent = "cubinet/" CUBINET_VERSION;
  return settings;
}

Result<ServerCredentials> credentials_of(const ServerAccess& access) {
  if (access.user.empty() != access.password.empty())
    return Error{ErrorCode::invalid_argument,
                 "`ServerAccess::user` and `ServerAccess::password` need each other",
                 "set both of them, or `ServerAccess::token`"};
  ServerCredentials credentials;
  if (!access.user.empty()) credentials.basic = BasicCredentials{access.user, access.password};
  credentials.bearer = access.token;
  credentials.docker.file = access.docker.configuration_file;
  credentials.docker.helper_folders.assign(access.docker.helper_folders.begin(),
                                           access.docker.helper_folders.end());
  credentials.docker.helper_environment = access.docker.helper_environment;
  const S3Access& s3 = access.s3;
  if (!s3.access_key.empty() && !s3.secret_key.empty())
    credentials.aws = AwsCredentials{s3.access_key, s3.secret_key, s3.session_token};
  credentials.aws_profile.credentials = s3.credentials_file;
  credentials.aws_profile.config = s3.config_file;
  if (!s3.profile.empty()) credentials.aws_profile.profile = s3.profile;
  credentials.aws_region = s3.region;
  credentials.s3_endpoint = s3.endpoint;
  return credentials;
}

Result<std::shared_ptr<ContentServer>> connect_all(const std::vector<ServerReference>& references,
                                                   const std::shared_ptr<HttpClient>& client,
                                                   const std::shared_ptr<FileSystem>& files,
                                                   const ServerAccess& access) {
  CUBINET_TRY_ASSIGN(const ServerCredentials credentials, credentials_of(access));
  std::vector<std::shared_ptr<ContentServer>> servers;
  for (const ServerReference& reference : references) {
    CUBINET_TRY_ASSIGN(servers.emplace_back(), connect(reference, client, files, credentials));
  }
  return join_mirrors(std::move(servers));
}

}  // namespace cubinet
