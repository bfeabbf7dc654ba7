// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <thread>

namespace cubinet::test {

// A port of 127.0.0.1, and the thread that hands on what connects to it, one after the other.
class LoopbackListener {
 public:
  // `serve` closes the connection. `waiting`: so many may wait to be handed on.
  LoopbackListener(int waiting, std::function<void(int connection)> serve);
  ~LoopbackListener();
  LoopbackListener(const LoopbackListener&) = delete;
  LoopbackListener& operator=(const LoopbackListener&) = delete;

  std::string authority() const { return "127.0.0.1:" + std::to_string(port_); }
  std::string url(const std::string& path) const { return "http://" + authority() + path; }
  // True when the client hung up, or nothing is served any more; -1 milliseconds: waits for it.
  bool wait_for_end(int connection, int milliseconds) const;
  // Returns when nothing more is handed on.
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
