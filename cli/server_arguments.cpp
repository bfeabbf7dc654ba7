// SPDX-License-Identifier: Apache-2.0
#include "server_arguments.hpp"

#include "arguments.hpp"
#include "password.hpp"

#include <cubinet/distribution/connect.hpp>
#include <cubinet/distribution/mirrors.hpp>
#include <cubinet/distribution/remote_cache.hpp>
#include <cubinet/distribution/server_store.hpp>
#include <cubinet/trust/server_place.hpp>

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

HttpSettings settings_of(const Context& context, const ServerArguments& options,
                         Callback<bool()> cancelled = {}) {
  const ServerVariables& variables = context.environment().servers;
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
  return settings;
}

Result<ServerCredentials> credentials_of(const Context& context, const ServerArguments& options) {
  const EnvironmentVariables& environment = context.environment();
  const ServerVariables& variables = environment.servers;
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
  return credentials;
}

// As one, each a mirror of the first.
Result<std::shared_ptr<ContentServer>> connect_all(const Context& context, const ServerArguments& options,
                                                   const std::vector<ServerReference>& references,
                                                   const std::shared_ptr<HttpClient>& client) {
  CUBINET_TRY_ASSIGN(const ServerCredentials credentials, credentials_of(context, options));
  std::vector<std::shared_ptr<ContentServer>> servers;
  for (const ServerReference& reference : references) {
    CUBINET_TRY_ASSIGN(servers.emplace_back(), connect(reference, client, context.files(), credentials));
  }
  return join_mirrors(std::move(servers));
}

}  // namespace

void add_server_options(CLI::App& verb, ServerArguments& options) {
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

void add_places(CLI::App& verb, Places& places) {
  add_list(verb, "--bundle", places.bundles, "FILE|REF",
           "Look into this bundle too, a file or on a server (oci://host/name:CHANNEL); may be repeated");
  add_server_options(verb, places.server);
}

void add_cache(CLI::App& verb, Places& places) {
  add_text(verb, "--cache", places.cache, "URL",
           "Before compiling, ask this server for the build that another node made");
}

void add_written_cache(CLI::App& verb, Places& places) {
  add_cache(verb, places);
  CLI::Option* key = add_text(verb, "--cache-key", places.cache_key, "FILE",
                              "Write there what is compiled, signed by this secret key");
  add_text(verb, "--cache-key-password", places.cache_key_password, "FILE",
           "The file whose first line is that key's password; - is stdin")
      ->needs(key);
}

Result<OpenServers> open_servers(const Context& context, const ServerArguments& options,
                                 const std::vector<ServerReference>& references) {
  const auto client = std::make_shared<HttpClient>(settings_of(context, options));
  CUBINET_TRY_ASSIGN(auto server, connect_all(context, options, references, client));
  return OpenServers{client, HttpClient::Session(*client), std::move(server)};
}

Result<std::optional<TrustPolicy>> server_policy(const Context& context, const ServerReference& reference) {
  const auto home = context.home();
  return find_trust_policy(reference.to_string(), home ? home->string() : std::string(),
                           context.named_policy(), context.files());
}

bool names_server(std::string_view text) {
  return is_url(text);
}

Result<std::shared_ptr<Store>> open_server(const Context& context, const ServerArguments& options,
                                           const std::string& reference, std::shared_ptr<Home> home) {
  ServerStoreOptions store;
  CUBINET_TRY_ASSIGN(store.reference, ServerReference::parse(reference));
  CUBINET_TRY_ASSIGN(store.policy, server_policy(context, store.reference));
  store.client = std::make_shared<HttpClient>(on_demand(settings_of(context, options)));
  CUBINET_TRY_ASSIGN(store.server, connect_all(context, options, {store.reference}, store.client));
  store.home = std::move(home);
  store.offline = options.offline;
  store.log = context.console().log_sink();
  store.files = context.files();
  return open_server_store(std::move(store));
}

Result<OpenFileServers> open_file_servers(const Context& context, const ServerArguments& options,
                                          const std::vector<ServerReference>& references,
                                          Callback<bool()> cancelled) {
  const auto client = std::make_shared<HttpClient>(settings_of(context, options, std::move(cancelled)));
  CUBINET_TRY_ASSIGN(const ServerCredentials credentials, credentials_of(context, options));
  CUBINET_TRY_ASSIGN(auto server, connect_files(references, client, context.files(), credentials));
  return OpenFileServers{client, HttpClient::Session(*client), std::move(server)};
}

Result<std::shared_ptr<Store>> open_cache(const Context& context, const Places& places,
                                          std::shared_ptr<Home> home) {
  RemoteCacheOptions cache;
  CUBINET_TRY_ASSIGN(const ServerReference reference, ServerReference::parse(places.cache));
  CUBINET_TRY_ASSIGN(cache.policy, server_policy(context, reference));
  CUBINET_TRY_ASSIGN(cache.credentials, credentials_of(context, places.server));
  cache.reference = places.cache;
  cache.client = std::make_shared<HttpClient>(on_demand(settings_of(context, places.server)));
  cache.files = context.files();
  if (!places.cache_key.empty()) {
    CUBINET_TRY_ASSIGN(cache.writer,
                       read_secret_key(*context.files(), places.cache_key, places.cache_key_password));
  }
  cache.home = std::move(home);
  cache.log = context.console().log_sink();
  return open_remote_cache(std::move(cache));
}

}  // namespace cubinet::cli
