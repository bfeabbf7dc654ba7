// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "curl_api.hpp"
#include "response_body.hpp"

#include <cubinet/transport/http_client.hpp>

namespace cubinet {

// How one attempt ended.
struct HttpAttempt {
  HttpResponse response = {};         // as far as there is one
  std::optional<Error> failure = {};  // why there is none, or not all of it
  bool may_pass = false;              // the failure
  bool was_sent = true;               // the request may have arrived
};

// One of libcurl's easy handles, with the connections that it keeps. One thread at a time.
class HttpConnection {
 public:
  static Result<std::unique_ptr<HttpConnection>> open(std::shared_ptr<const CurlApi> curl);
  ~HttpConnection();
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  // One request, one response: nothing is followed and nothing repeated. `headers` are all of it.
  HttpAttempt perform(const HttpSettings& settings, const HttpRequest& request, const Url& url,
                      const HttpHeaders& headers, ResponseBody& body, std::chrono::milliseconds time_left);

  // Of a process that was forked: the sockets are the parent's, to whose server a farewell would be sent.
  void abandon() { handle_ = nullptr; }

 private:
  HttpConnection(std::shared_ptr<const CurlApi> curl, CURL* handle)
      : curl_(std::move(curl)), handle_(handle) {}

  std::shared_ptr<const CurlApi> curl_;
  CURL* handle_;
};

}  // namespace cubinet
