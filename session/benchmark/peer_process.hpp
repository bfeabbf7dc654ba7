// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>

#include <nlohmann/json_fwd.hpp>

#include <chrono>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace cubinet {

// A peer: another implementation of attention in a process of its own. It answers each line of JSON
// with a line of JSON (docs/benchmarks.md). It writes messages for people to stderr, which it
// shares with this process. Not thread-safe.
class PeerProcess {
 public:
  // Starts a command of /bin/sh with these environment variables (NAME=value). Returns io if no
  // process can be started. A command that does not exist causes an error at the first answer.
  static Result<PeerProcess> start(const std::string& name, std::string command,
                                   std::vector<std::string> environment);

  PeerProcess(PeerProcess&& other) noexcept;
  PeerProcess& operator=(PeerProcess&& other) = delete;
  // Ends the input of the process and waits for it. Kills it after a few seconds.
  ~PeerProcess();

  const std::string& name() const { return name_; }
  // Returns the answer to a question, without its deeply nested values. Returns an error if the
  // process has ended, does not read or answer in time, or answers anything but a JSON object.
  // Later questions then fail too.
  Result<nlohmann::json> ask(const nlohmann::json& question, std::chrono::seconds patience);

 private:
  PeerProcess(std::string name, pid_t process, int socket)
      : name_(std::move(name)), process_(process), socket_(socket) {}

  using TimePoint = std::chrono::steady_clock::time_point;
  Result<void> write(std::string_view text, TimePoint end);
  Result<std::string> read_line(TimePoint end);
  Result<void> wait(short event, TimePoint end);  // waits for this event of poll()
  Error gone(const std::string& what);            // closes the socket

  std::string name_;
  pid_t process_ = -1;
  int socket_ = -1;
  std::string unread_;
};

}  // namespace cubinet
