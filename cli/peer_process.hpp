// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>

#include <nlohmann/json_fwd.hpp>

#include <chrono>
#include <string>
#include <string_view>
#include <sys/types.h>

namespace cubinet::cli {

// Another implementation, in a process of its own that answers a line of JSON with a line of JSON
// (docs/benchmarks.md). Its words for people go to its stderr, which is ours. Not thread-safe.
class PeerProcess {
 public:
  // "NAME=COMMAND", the command for /bin/sh. invalid_argument where it is not that; io where there is no
  // process. A command that does not exist shows in the first answer.
  static Result<PeerProcess> start(const std::string& option);

  PeerProcess(PeerProcess&& other) noexcept;
  PeerProcess& operator=(PeerProcess&& other) = delete;
  // Ends its input and waits for it, a few seconds at most: then it is killed.
  ~PeerProcess();

  const std::string& name() const { return name_; }
  // The answer to a question, without what lies deep in it. An error where the process is gone, reads or says
  // nothing in time, or says what is no object of JSON; it is asked nothing more then.
  Result<nlohmann::json> ask(const nlohmann::json& question, std::chrono::seconds patience);

 private:
  PeerProcess(std::string name, pid_t process, int socket)
      : name_(std::move(name)), process_(process), socket_(socket) {}

  using TimePoint = std::chrono::steady_clock::time_point;
  Result<void> write(std::string_view text, TimePoint end);
  Result<std::string> read_line(TimePoint end);
  Result<void> wait(short event, TimePoint end);  // of poll
  Error gone(const std::string& what);            // closes the socket

  std::string name_;
  pid_t process_ = -1;
  int socket_ = -1;
  std::string unread_;
};

}  // namespace cubinet::cli
