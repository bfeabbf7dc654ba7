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
  std::string session_token = {};  // empty: they are no temporary ones
};

// Signature Version 4 of a request for S3, over libcrypto. libcurl's own leaves out x-amz-content-sha256
// (7.88), and strict servers refuse it.
struct AwsRequest {
  HttpMethod method = HttpMethod::get;
  Url url;
  HttpHeaders headers = {};  // that are signed, beside Host
  std::string body_sha256;   // in hexadecimal
};
// The value of the header Authorization. `time` as it is in x-amz-date: 20150830T123600Z.
std::string aws_authorization(const AwsRequest& request, const AwsCredentials& credentials,
                              std::string_view region, std::string_view service, std::string_view time);

// Signs requests to one S3 store. Credentials are asked for at each request, since temporary ones end.
// Thread-safe as far as `credentials` is.
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
