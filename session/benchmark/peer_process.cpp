// SPDX-License-Identifier: Apache-2.0
#include "benchmark/peer_process.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace cubinet {
namespace {

constexpr std::size_t kLongestAnswer = 1 << 20;
// The deepest nesting of values in an answer. Deeper values are left out: they have no meaning, and
// printing them would recurse as deep.
constexpr int kDeepestAnswer = 8;

Error system_error(const std::string& what) {
  return Error{ErrorCode::io, what + ": " + std::strerror(errno)};
}

}  // namespace

Result<PeerProcess> PeerProcess::start(const std::string& name, std::string command,
                                       std::vector<std::string> environment) {
  // Sockets are used because a write to a socket can avoid the signal (SIGPIPE) when the process
  // has ended.
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return system_error("cannot make a pair of sockets");
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  // The peer gets a process group of its own, so that its children are killed with it.
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  char shell[] = "/bin/sh";
  char flag[] = "-c";
  char* const arguments[] = {shell, flag, command.data(), nullptr};
  std::vector<char*> variables;
  for (std::string& line : environment)
    variables.push_back(line.data());
  variables.push_back(nullptr);
  pid_t process = -1;
  const int failure = ::posix_spawn(&process, shell, &actions, &attributes, arguments, variables.data());
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (failure != 0) {
    ::close(ends[0]);
    errno = failure;
    return system_error("cannot start the peer " + name);
  }
  return PeerProcess(name, process, ends[0]);
}

PeerProcess::PeerProcess(PeerProcess&& other) noexcept
    : name_(std::move(other.name_)),
      process_(std::exchange(other.process_, -1)),
      socket_(std::exchange(other.socket_, -1)),
      unread_(std::move(other.unread_)) {}

PeerProcess::~PeerProcess() {
  if (socket_ >= 0) ::close(socket_);
  if (process_ < 0) return;
  for (int i = 0; i < 50; ++i) {
    if (::waitpid(process_, nullptr, WNOHANG) != 0) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  ::kill(-process_, SIGKILL);
  ::waitpid(process_, nullptr, 0);
}

Result<nlohmann::json> PeerProcess::ask(const nlohmann::json& question, std::chrono::seconds patience) {
  if (socket_ < 0) return gone("has ended before");
  const auto end = std::chrono::steady_clock::now() + patience;
  // The tag of a case may contain any bytes.
  CUBINET_TRY(write(question.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n", end));
  CUBINET_TRY_ASSIGN(const std::string answer, read_line(end));
  const auto is_shallow = [](int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
    return depth <= kDeepestAnswer;
  };
  nlohmann::json parsed = nlohmann::json::parse(answer, is_shallow, false);
  // The JSON library ignores everything after a zero byte.
  if (!parsed.is_object() || answer.find('\0') != std::string::npos)
    return gone("answered what is no object of JSON: " + answer.substr(0, 100));
  return parsed;
}

// Writes in parts: a question may be longer than the socket's buffer, and a peer may read none of
// it.
Result<void> PeerProcess::write(std::string_view text, TimePoint end) {
  while (!text.empty()) {
    CUBINET_TRY(wait(POLLOUT, end));
    const ssize_t count = ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count < 0) return gone("has ended");
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}

Result<std::string> PeerProcess::read_line(TimePoint end) {
  for (;;) {
    if (const std::size_t at = unread_.find('\n'); at != std::string::npos) {
      std::string line = unread_.substr(0, at);
      unread_.erase(0, at + 1);
      return line;
    }
    if (unread_.size() > kLongestAnswer) return gone("answers without end");
    CUBINET_TRY(wait(POLLIN, end));
    char buffer[4096];
    const ssize_t count = ::recv(socket_, buffer, sizeof(buffer), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return gone("has ended");
    unread_.append(buffer, static_cast<std::size_t>(count));
  }
}

Result<void> PeerProcess::wait(short event, TimePoint end) {
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()).count();
    if (left <= 0) return gone("gave no answer in time");
    pollfd wanted = {socket_, event, 0};
    const int ready = ::poll(&wanted, 1, static_cast<int>(left));
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) return gone(std::strerror(errno));
  }
}

Error PeerProcess::gone(const std::string& what) {
  if (socket_ >= 0) ::close(std::exchange(socket_, -1));
  return Error{ErrorCode::io, "the peer " + name_ + " " + what};
}

}  // namespace cubinet
