// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/loopback_listener.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet::test {

struct ReceivedRequest {
  std::string method;
  std::string target;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;

  std::string header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? "" : found->second;
  }
};

// The bytes that a server sends, and the manner of sending them.
struct ServerReply {
  std::string bytes;
  std::size_t chunk = 0;               // bytes sent at a time; 0: all at once
  std::chrono::milliseconds pause{0};  // between them
  bool stalls = false;                 // if true, sends no more and keeps the connection open
  bool repeats = false;                // if true, repeats the last 1024 bytes without end
};

// Returns head and body. Adds the Content-Length of the body unless `headers` has one ("Name:
// value\r\n"...).
ServerReply reply(int status, std::string_view body = {}, const std::string& headers = {});

// Parses a message's head. A status line is accepted too: its version, status and reason take the
// positions of method and target.
ReceivedRequest parse_request(std::string_view head);
// Returns false if the other side has closed the connection.
bool send_all(int connection, std::string_view bytes);

// An HTTP server on a port of 127.0.0.1 with scripted responses. It serves one connection and one
// request at a time.
class FaultServer {
 public:
  // Called on the server's thread with the request and the number of earlier requests.
  using Answer = std::function<ServerReply(const ReceivedRequest&, std::size_t)>;
  explicit FaultServer(Answer answer);
  FaultServer(const FaultServer&) = delete;
  FaultServer& operator=(const FaultServer&) = delete;

  std::string authority() const { return listener_.authority(); }
  std::string url(const std::string& path) const { return listener_.url(path); }
  std::vector<ReceivedRequest> requests() const;

 private:
  void serve_connection(int connection);

  Answer answer_;
  mutable std::mutex mutex_;
  std::vector<ReceivedRequest> requests_;
  LoopbackListener listener_;  // destroyed first, because its thread uses the other members
};

}  // namespace cubinet::test
