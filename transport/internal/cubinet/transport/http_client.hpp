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

// How servers are asked. All of it is said here: neither we nor libcurl read the environment for it.
struct HttpSettings {
  std::string library = "libcurl.so.4";  // a path or soname; opened at the first request
  bool offline = false;                  // every request is refused, before a name is looked up
  // Servers, as host[:port] (80 if it is left out), that may be asked by http://. All others are asked by
  // https:// alone, and a redirect from that to http:// is never followed.
  std::vector<std::string> plain_http = {};
  std::string proxy = {};     // [scheme://]host:port; empty: none
  std::string no_proxy = {};  // names, with commas, that are asked directly
  // PEM. Where one of the first two is given, the system's authorities do not count.
  std::filesystem::path authorities_file = {};
  std::filesystem::path authorities_folder = {};
  std::filesystem::path client_certificate = {};
  std::filesystem::path client_key = {};
  std::string user_agent = "cubinet";

  std::chrono::milliseconds connect_limit{10'000};  // the name, the connection and TLS
  // A transfer that stays below so many bytes a second for so long is given up.
  std::uint64_t least_speed = 1024;
  std::chrono::seconds least_speed_time{20};
  std::chrono::milliseconds deadline{600'000};  // of a request with all its attempts and waits
  unsigned attempts = 5;
  std::chrono::milliseconds first_delay{250};
  std::chrono::milliseconds longest_delay{15'000};
  // Asked several times a second, by the thread that waits; true ends the request.
  Callback<bool()> cancelled = {};
};

// Returns whether the settings allow http:// for this host, in the form of HostPort, and port.
bool allows_plain_http(const HttpSettings& settings, std::string_view host, std::uint16_t port);

// Requests over HTTP/1.1, by libcurl.
//
// Redirects (at most 5) are followed here: nothing that tells who asks goes to another scheme, host or port.
// A request is repeated after what may pass (no connection, a body that ends early, 408, 429, 5xx), with what
// has arrived already kept where a strong ETag proves that the rest is of the same; what a server asks for by
// Retry-After is waited for within the deadline. Bodies are not looked at: whoever asks compares their
// digest.
//
// Thread-safe. No connection outlives its request unless somebody holds a Session; none outlives the last of
// these, so that a process at rest has no socket. After a fork the child has none of the parent's
// connections; where a thread was inside libcurl when the process forked, the child's requests are
// unavailable.
class HttpClient {
 public:
  explicit HttpClient(HttpSettings settings);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // While one lives, connections are kept open for the next request.
  class [[nodiscard]] Session {
   public:
    explicit Session(HttpClient& client);
    Session(Session&& other) noexcept : client_(std::exchange(other.client_, nullptr)) {}
    Session& operator=(Session&&) = delete;
    ~Session();

   private:
    HttpClient* client_;
  };

  // The server's last word. unavailable where there is none: no libcurl, offline, no connection, a time
  // limit, refusals that did not pass; untrusted: a certificate that does not hold, a redirect that is not
  // followed, http:// that was not allowed; corruption: a body of another size or range than was asked for.
  Result<HttpResponse> send(const HttpRequest& request);

  const HttpSettings& settings() const { return settings_; }

 private:
  struct State;

  HttpSettings settings_;
  std::unique_ptr<State> state_;
};

}  // namespace cubinet
