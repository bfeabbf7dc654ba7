// SPDX-License-Identifier: Apache-2.0
#include "credential_helper.hpp"

#include "broken_pipe_signal.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cubinet {
namespace {

constexpr std::size_t kMaximumHelperOutput = 64 * 1024;

struct Pipe {
  Pipe() { made = pipe2(ends.data(), O_CLOEXEC) == 0; }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void close_end(std::size_t end) {
    if (ends[end] >= 0) close(ends[end]);
    ends[end] = -1;
  }
  std::array<int, 2> ends{-1, -1};
  bool made = false;
};

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts)
    pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// Reads the output until it is closed. Returns false if the time limit comes first.
bool read_until(int descriptor, std::chrono::steady_clock::time_point end, std::string& output) {
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    if (left.count() <= 0 || output.size() > kMaximumHelperOutput) return false;
    pollfd waiting{descriptor, POLLIN, 0};
    if (poll(&waiting, 1, static_cast<int>(std::min<std::int64_t>(left.count(), 1000))) <= 0) continue;
    std::array<char, 4096> buffer{};
    const ssize_t count = read(descriptor, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return true;
    output.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

}  // namespace

Result<HelperAnswer> run_credential_helper(const std::filesystem::path& program,
                                           const std::vector<std::string>& environment,
                                           std::string_view input, std::chrono::milliseconds limit) {
  Pipe to_helper, from_helper;
  if (!to_helper.made || !from_helper.made) return io_error("no pipe to '" + program.string() + "'", errno);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, to_helper.ends[0], 0);
  posix_spawn_file_actions_adddup2(&actions, from_helper.ends[1], 1);
  const std::vector<std::string> arguments = {program.string(), "get"};
  pid_t child = -1;
  const int status = posix_spawn(&child, program.c_str(), &actions, nullptr, pointers_to(arguments).data(),
                                 pointers_to(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  if (status != 0) {
    Error error = io_error("'" + program.string() + "' does not start", status);
    error.code = ErrorCode::unavailable;
    return error;
  }
  to_helper.close_end(0);
  from_helper.close_end(1);
  {
    const BrokenPipeSignal blocked;
    // A helper that does not read its input gives no useful output.
    [[maybe_unused]] const ssize_t written = write(to_helper.ends[1], input.data(), input.size());
  }
  to_helper.close_end(1);
  HelperAnswer answer;
  const bool ended = read_until(from_helper.ends[0], std::chrono::steady_clock::now() + limit, answer.output);
  if (!ended) kill(child, SIGKILL);
  int wait_status = 0;
  while (waitpid(child, &wait_status, 0) < 0 && errno == EINTR) {
  }
  if (!ended)
    return Error{ErrorCode::unavailable, "'" + program.string() + "' gave no answer within " +
                                             std::to_string(limit.count()) + " ms, or one without an end"};
  answer.exit_status = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : -1;
  return answer;
}

}  // namespace cubinet
