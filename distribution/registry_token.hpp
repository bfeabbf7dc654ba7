// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/transport/docker_credentials.hpp>
#include <cubinet/transport/http_client.hpp>

#include <map>
#include <mutex>

namespace cubinet {

// What a WWW-Authenticate asks for: a scheme in small letters, and its parameters by name in small letters.
// nullopt when it cannot be read.
struct AuthenticationChallenge {
  std::string scheme;
  std::map<std::string, std::string> parameters;
};
std::optional<AuthenticationChallenge> parse_challenge(std::string_view header);

// Who may ask a registry: by a token that it sends us to fetch elsewhere (distribution's token
// authentication), or by user and password where it wants these. Nothing is sent before the registry asks for
// it; tokens are kept for reading and for writing each, until they are refused.
//
// Where a registry sends us for a token, it sends our password too. It goes there over https alone, or, from
// a registry that was itself asked by http, to that one alone.
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
  std::map<bool, HttpHeader> authorization_;  // by whether the request writes
};

}  // namespace cubinet
