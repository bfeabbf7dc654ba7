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
  std::map<std::string, std::string> headers;  // names in small letters
  std::string body;

  std::string header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? "" : found->second;
  }
};

// What a server sends, byte for byte, and how.
struct ServerReply {
  std::string bytes;
  std::size_t piece = 0;               // so many bytes at a time; 0: all at once
  std::chrono::milliseconds pause{0};  // between them
  bool stalls = false;                 // says no more, and does not hang up
  bool repeats = false;                // sends the last 1024 bytes again and again
};

// Head and body; with the Content-Length of the body unless `headers` has one ("Name: value\r\n"...).
ServerReply reply(int status, std::string_view body = {}, const std::string& headers = {});

// Of a message's head, a status line too, which has a version, a status and a reason in the places of method
// and target.
ReceivedRequest parse_request(std::string_view head);
// False where the other side has hung up.
bool send_all(int connection, std::string_view bytes);

// An HTTP server on a port of 127.0.0.1 that answers as it is told, one connection and one request after the
// other.
class FaultServer {
 public:
  // `answer` is called by the server's thread with the request and how many came before it.
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
  LoopbackListener listener_;  // goes first: it asks the others
};

}  // namespace cubinet::test
