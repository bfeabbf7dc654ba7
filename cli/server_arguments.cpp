// SPDX-License-Identifier: Apache-2.0
#include "server_arguments.hpp"

#include "arguments.hpp"

#include <cubinet/session/password.hpp>

namespace cubinet::cli {

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

void add_password_file(CLI::App& verb, std::string& file) {
  verb.add_option("--password-file", file,
                  "The file whose first line is the secret key's password; - is stdin")
      ->type_name("FILE");
}

void add_places(CLI::App& verb, Places& places) {
  add_list(
      verb, "--bundle", places.bundles, "FILE|REF",
      "Look into this bundle too, a file or on a server (oci://host/name:CHANNEL, folder#CHANNEL); may be "
      "repeated");
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

Result<ServerAccess> server_access(const Context& context, const ServerArguments& arguments) {
  ServerAccess access = context.session_options().access;
  access.offline = arguments.offline;
  access.plain_http = arguments.plain_http;
  access.authorities_file = arguments.authorities;
  access.client_certificate = arguments.client_certificate;
  access.client_key = arguments.client_key;
  access.s3.endpoint = arguments.s3_endpoint;
  if (arguments.user.empty() != arguments.password_file.empty())
    return Error{ErrorCode::invalid_argument, "--user and --password-file are given together"};
  if (arguments.user.empty()) return access;
  CUBINET_TRY_ASSIGN(const auto password, read_password(*context.files(), arguments.password_file));
  access.user = arguments.user;
  access.password = password->text();
  return access;
}

}  // namespace cubinet::cli
