// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "curl_api.hpp"
#include "response_body.hpp"

#include <cubinet/transport/http_client.hpp>

namespace cubinet {

// The outcome of one attempt.
struct HttpAttempt {
  HttpResponse response = {};         // as far as it was received
  std::optional<Error> failure = {};  // why there is no complete response
  bool may_pass = false;              // if true, the failure may be temporary
  bool was_sent = true;               // if true, the request may have arrived
};

// A libcurl easy handle with the connections that it keeps. Only one thread may use it at a time.
class HttpConnection {
 public:
  static Result<std::unique_ptr<HttpConnection>> open(std::shared_ptr<const CurlApi> curl);
  ~HttpConnection();
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  // Sends one request and receives one response, without redirects and retries. `headers` are all
  // headers of the request.
  HttpAttempt perform(const HttpSettings& settings, const HttpRequest& request, const Url& url,
                      const HttpHeaders& headers, ResponseBody& body, std::chrono::milliseconds time_left);

  // Abandons the handle in a forked child. The sockets belong to the parent, and closing them would
  // send a message to the parent's server.
  void abandon() { handle_ = nullptr; }

 private:
  HttpConnection(std::shared_ptr<const CurlApi> curl, CURL* handle)
      : curl_(std::move(curl)), handle_(handle) {}

  std::shared_ptr<const CurlApi> curl_;
  CURL* handle_;
};

}  // namespace cubinet
