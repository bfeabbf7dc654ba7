// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <thread>

namespace cubinet::test {

// A port of 127.0.0.1 and a thread that passes on its connections one after the other.
class LoopbackListener {
 public:
  // `serve` closes the connection. `waiting` is the number of connections that may wait.
  LoopbackListener(int waiting, std::function<void(int connection)> serve);
  ~LoopbackListener();
  LoopbackListener(const LoopbackListener&) = delete;
  LoopbackListener& operator=(const LoopbackListener&) = delete;

  std::string authority() const { return "127.0.0.1:" + std::to_string(port_); }
  std::string url(const std::string& path) const { return "http://" + authority() + path; }
  // Waits for the client. Returns true if the client closed the connection or the listener stops.
  // -1 milliseconds waits without a limit.
  bool wait_for_end(int connection, int milliseconds) const;
  // Returns when no more connections are passed on.
  void stop();

 private:
  void listen_and_serve();

  std::function<void(int)> serve_;
  int listening_ = -1;
  int stop_[2] = {-1, -1};
  std::uint16_t port_ = 0;
  std::thread thread_;
};

}  // namespace cubinet::test
