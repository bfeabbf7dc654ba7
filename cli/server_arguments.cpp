// SPDX-License-Identifier: Apache-2.0
#include "server_arguments.hpp"

#include "arguments.hpp"
#include "password.hpp"

#include <cubinet/distribution/connect.hpp>
#include <cubinet/distribution/mirrors.hpp>

#include <sstream>

namespace cubinet::cli {
namespace {

AwsProfileFiles aws_files(const ServerVariables& variables, const std::optional<std::string>& home) {
  const std::filesystem::path folder = std::filesystem::path(home.value_or("")) / ".aws";
  AwsProfileFiles files;
  if (home) files.credentials = folder / "credentials";
  if (home) files.config = folder / "config";
  if (variables.aws_credentials_file) files.credentials = *variables.aws_credentials_file;
  if (variables.aws_config_file) files.config = *variables.aws_config_file;
  if (variables.aws_profile) files.profile = *variables.aws_profile;
  return files;
}

DockerConfiguration docker_files(const ServerVariables& variables, const std::optional<std::string>& home) {
  DockerConfiguration docker;
  if (home) docker.file = std::filesystem::path(*home) / ".docker" / "config.json";
  if (variables.docker_config) docker.file = std::filesystem::path(*variables.docker_config) / "config.json";
  std::istringstream folders(variables.path.value_or(""));
  for (std::string folder; std::getline(folders, folder, ':');)
    docker.helper_folders.emplace_back(folder);
  docker.helper_environment = variables.all;
  return docker;
}

struct ServerAccess {
  std::shared_ptr<HttpClient> client;
  ServerCredentials credentials;
};

Result<ServerAccess> access_to_servers(const Context& context, const ServerOptions& options,
                                       Callback<bool()> cancelled) {
  const EnvironmentVariables& environment = context.environment();
  const ServerVariables& variables = environment.servers;
  HttpSettings settings;
  settings.offline = options.offline;
  settings.cancelled = std::move(cancelled);
  settings.plain_http = options.plain_http;
  settings.authorities_file = options.authorities;
  settings.client_certificate = options.client_certificate;
  settings.client_key = options.client_key.empty() ? options.client_certificate : options.client_key;
  settings.proxy = variables.proxy.value_or("");
  settings.no_proxy = variables.no_proxy.value_or("");
  settings.user_agent = std::string("cubinet/") + CUBINET_VERSION;

  ServerCredentials credentials;
  if (options.user.empty() != options.password_file.empty())
    return Error{ErrorCode::invalid_argument, "--user and --password-file are given together"};
  if (!options.user.empty()) {
    CUBINET_TRY_ASSIGN(const auto password, read_password(*context.files(), options.password_file));
    credentials.basic = BasicCredentials{options.user, std::string(password->text())};
  }
  credentials.docker = docker_files(variables, environment.home);
  credentials.aws_profile = aws_files(variables, environment.home);
  if (variables.aws_access_key && variables.aws_secret_key)
    credentials.aws = AwsCredentials{*variables.aws_access_key, *variables.aws_secret_key,
                                     variables.aws_session_token.value_or("")};
  credentials.aws_region = variables.aws_region.value_or("");
  credentials.s3_endpoint = options.s3_endpoint;

  return ServerAccess{std::make_shared<HttpClient>(std::move(settings)), std::move(credentials)};
}

}  // namespace

void add_server_options(CLI::App& verb, ServerOptions& options) {
  add_list(verb, "--plain-http", options.plain_http, "HOST[:PORT]",
           "A server that may be asked without TLS, by anybody on the way");
  add_text(verb, "--ca", options.authorities, "FILE", "Authorities of servers, in PEM, and no others");
  add_text(verb, "--cert", options.client_certificate, "FILE", "A certificate to show to servers, in PEM");
  add_text(verb, "--cert-key", options.client_key, "FILE", "Its key");
  add_text(verb, "--user", options.user, "NAME", "Who asks; with --password-file");
  add_text(verb, "--password-file", options.password_file, "FILE",
           "The file whose first line is their password; - is stdin");
  add_text(verb, "--endpoint", options.s3_endpoint, "URL", "The S3 store that is not Amazon's");
  verb.add_flag("--offline", options.offline, "Ask no server");
}

Result<OpenServers> open_servers(const Context& context, const ServerOptions& options,
                                 const std::vector<ServerReference>& references) {
  CUBINET_TRY_ASSIGN(const ServerAccess access, access_to_servers(context, options, {}));
  std::vector<std::shared_ptr<ContentServer>> servers;
  for (const ServerReference& reference : references) {
    CUBINET_TRY_ASSIGN(auto server, connect(reference, access.client, context.files(), access.credentials));
    servers.push_back(std::move(server));
  }
  return OpenServers{access.client, HttpClient::Session(*access.client), join_mirrors(std::move(servers))};
}

Result<OpenFileServers> open_file_servers(const Context& context, const ServerOptions& options,
                                          const std::vector<ServerReference>& references,
                                          Callback<bool()> cancelled) {
  CUBINET_TRY_ASSIGN(const ServerAccess access, access_to_servers(context, options, std::move(cancelled)));
  CUBINET_TRY_ASSIGN(auto server,
                     connect_files(references, access.client, context.files(), access.credentials));
  return OpenFileServers{access.client, HttpClient::Session(*access.client), std::move(server)};
}

}  // namespace cubinet::cli
