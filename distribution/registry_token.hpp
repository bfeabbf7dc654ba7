// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/transport/docker_credentials.hpp>
#include <cubinet/transport/http_client.hpp>

#include <map>
#include <mutex>

namespace cubinet {

// The parameters of a WWW-Authenticate header: the scheme and its parameters by name, both in lower
// case. nullopt if it cannot be parsed.
struct AuthenticationChallenge {
  std::string scheme;
  std::map<std::string, std::string> parameters;
};
std::optional<AuthenticationChallenge> parse_challenge(std::string_view header);

// The authorizer of requests to a registry. It fetches a token from the server that the registry
// names (distribution's token authentication), or sends user and password if the registry requires
// these. Nothing is sent before the registry asks for it. Tokens for reading and for writing are
// kept until they are refused.
//
// The password is sent to the token server too. It is sent over https only, or, if the registry
// itself was contacted by http, to the same host.
class RegistryAuthorizer final : public Authorizer {
 public:
  RegistryAuthorizer(std::shared_ptr<HttpClient> client, Url registry,
                     std::optional<RegistryCredentials> credentials)
      : client_(std::move(client)), registry_(std::move(registry)), credentials_(std::move(credentials)) {}

  Result<HttpHeaders> headers(const HttpRequest& request) override;
  Result<bool> refused(const HttpRequest& request, const HttpResponse& response) override;

 private:
  Result<std::string> fetch_token(const AuthenticationChallenge& challenge);

  std::shared_ptr<HttpClient> client_;
  Url registry_;
  std::optional<RegistryCredentials> credentials_;
  std::mutex mutex_;
  std::map<bool, HttpHeader> authorization_;  // key: whether the request writes
};

}  // namespace cubinet
