// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/callback.hpp>
#include <cubinet/transport/http_message.hpp>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace cubinet {

// The settings for requests to servers. They are complete: neither this library nor libcurl reads
// the environment for them.
struct HttpSettings {
  std::string library = "libcurl.so.4";  // a path or soname; opened at the first request
  // If true, every request fails before its host name is resolved.
  bool offline = false;
  // Servers, as host[:port] (default 80), that may be accessed by http://. All others are accessed
  // by https:// only, and a redirect from https:// to http:// is never followed.
  std::vector<std::string> plain_http = {};
  std::string proxy = {};     // [scheme://]host:port; empty: none
  std::string no_proxy = {};  // comma-separated names that bypass the proxy
  // PEM files. If one of the first two is set, the system's certificate authorities are not used.
  std::filesystem::path authorities_file = {};
  std::filesystem::path authorities_folder = {};
  std::filesystem::path client_certificate = {};
  std::filesystem::path client_key = {};
  std::string user_agent = "cubinet";

  std::chrono::milliseconds connect_limit{10'000};  // covers name resolution, connection and TLS
  // A transfer slower than `least_speed` bytes per second for `least_speed_time` is aborted.
  std::uint64_t least_speed = 1024;
  std::chrono::seconds least_speed_time{20};
  std::chrono::milliseconds deadline{600'000};  // of a request with all its attempts and waits
  unsigned attempts = 5;
  std::chrono::milliseconds first_delay{250};
  std::chrono::milliseconds longest_delay{15'000};
  // Called several times per second by the waiting thread. Returning true ends the request.
  Callback<bool()> cancelled = {};
};

// Returns whether the settings allow http:// for this host, in the form of HostPort, and port.
bool allows_plain_http(const HttpSettings& settings, std::string_view host, std::uint16_t port);

// A client that sends requests over HTTP/1.1 using libcurl.
//
// The client follows redirects (at most 5) itself. It sends no credentials to another scheme, host
// or port. It repeats a request after a temporary failure (no connection, a truncated body, 408,
// 429, 5xx). It keeps the bytes already received if a strong ETag proves that the rest is of the
// same content. It waits for the time of Retry-After, within the deadline. It does not check
// bodies: the caller compares their digest.
//
// Thread-safe. No connection outlives its request unless a Session exists. No connection outlives
// the last Session, so that an idle process has no socket. After a fork the child has none of the
// parent's connections. If a thread was inside libcurl when the process forked, the child's
// requests return unavailable.
class HttpClient {
 public:
  explicit HttpClient(HttpSettings settings);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // A scope during which connections are kept open for later requests.
  class [[nodiscard]] Session {
   public:
    explicit Session(HttpClient& client);
    Session(Session&& other) noexcept : client_(std::exchange(other.client_, nullptr)) {}
    Session& operator=(Session&&) = delete;
    ~Session();

   private:
    HttpClient* client_;
  };

  // Returns the server's final response. Errors: unavailable if there is none (no libcurl, offline,
  // no connection, a time limit, persistent refusals); untrusted for an invalid certificate, a
  // redirect that must not be followed, or http:// that is not allowed; corruption for a body of a
  // size or range other than requested.
  Result<HttpResponse> send(const HttpRequest& request);

  const HttpSettings& settings() const { return settings_; }

 private:
  struct State;

  HttpSettings settings_;
  std::unique_ptr<State> state_;
};

}  // namespace cubinet
