// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/callback.hpp>
#include <cubinet/transport/http_message.hpp>

#include <ctime>
#include <string>

namespace cubinet {

struct AwsCredentials {
  std::string access_key;
  std::string secret_key;
  std::string session_token = {};  // empty: the credentials are not temporary
};

// A request for S3 to be signed with Signature Version 4, using libcrypto. libcurl's own
// implementation omits x-amz-content-sha256 (7.88), and strict servers refuse such requests.
struct AwsRequest {
  HttpMethod method = HttpMethod::get;
  Url url;
  HttpHeaders headers = {};  // the signed headers except Host
  std::string body_sha256;   // in hexadecimal
};
// Returns the value of the Authorization header. `time` has the form of x-amz-date:
// 20150830T123600Z.
std::string aws_authorization(const AwsRequest& request, const AwsCredentials& credentials,
                              std::string_view region, std::string_view service, std::string_view time);

// A signer of requests to one S3 store. It calls `credentials` for each request, because temporary
// credentials expire. Thread-safe if `credentials` is.
class S3Signer final : public Authorizer {
 public:
  S3Signer(Callback<Result<AwsCredentials>()> credentials, std::string region,
           Callback<std::time_t()> clock = {})
      : credentials_(std::move(credentials)), region_(std::move(region)), clock_(std::move(clock)) {}
  Result<HttpHeaders> headers(const HttpRequest& request) override;

 private:
  Callback<Result<AwsCredentials>()> credentials_;
  std::string region_;
  Callback<std::time_t()> clock_;
};

}  // namespace cubinet
