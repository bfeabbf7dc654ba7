// SPDX-License-Identifier: Apache-2.0
#include "process_timing.hpp"

#include "rounds.hpp"

#include <cubinet/base/file_system.hpp>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cubinet::bench {

Result<double> time_process(const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  for (const std::string& word : command)
    arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t quiet{};
  posix_spawn_file_actions_init(&quiet);
  posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  const double start = now_seconds();
  pid_t child = 0;
  const int refused = posix_spawnp(&child, arguments[0], &quiet, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&quiet);
  if (refused != 0) return io_error(command[0] + " could not be started", refused);
  int status = 0;
  waitpid(child, &status, 0);
  const double seconds = now_seconds() - start;
  if (status != 0)
    return Error{ErrorCode::compile_failed, command[0] + " ended with status " + std::to_string(status)};
  return seconds;
}

}  // namespace cubinet::bench
