// SPDX-License-Identifier: Apache-2.0
#include "command_process.hpp"

#include "support/temp_dir.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <sys/wait.h>
#include <unistd.h>

namespace cubinet {
namespace {

using test::TempDir;

InheritedSignals no_signals() {
  InheritedSignals none;
  ::sigemptyset(&none.mask);
  return none;
}

// Runs the command and returns its wait status.
int run(const std::vector<std::string>& command,
        const std::vector<std::string>& environment = {"PATH=/bin"}) {
  const pid_t child = start_process(command, environment, no_signals());
  REQUIRE(child > 0);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return status;
}

// Returns the errno of a command that does not start.
int failure_of(const std::vector<std::string>& command, const std::vector<std::string>& environment) {
  REQUIRE(start_process(command, environment, no_signals()) == -1);
  return errno;
}

TEST_CASE("a program is searched in the path of its own environment") {
  CHECK(WEXITSTATUS(run({"sh", "-c", "exit $1", "sh", "7"})) == 7);
  CHECK(failure_of({"sh"}, {"PATH=/nowhere"}) == ENOENT);
  CHECK(WEXITSTATUS(run({"sh", "-c", "exit $N"}, {"PATH=/bin", "N=5"})) == 5);
}

TEST_CASE("a program that cannot be run is an error, and leaves no child") {
  const TempDir temp;
  test::write_file(temp / "text", "no program");
  CHECK(failure_of({(temp / "none").string()}, {}) == ENOENT);
  CHECK(failure_of({temp.path().string()}, {}) == EACCES);
  CHECK(failure_of({(temp / "text").string()}, {}) == EACCES);
  CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);
  CHECK(errno == ECHILD);
}

TEST_CASE("a handler of the caller does not reach the program, and an ignored signal does") {
  struct sigaction handled = {};
  struct sigaction before = {};
  handled.sa_handler = [](int) {};
  REQUIRE(::sigaction(SIGUSR1, &handled, &before) == 0);
  CHECK(WTERMSIG(run({"sh", "-c", "kill -USR1 $$"})) == SIGUSR1);
  handled.sa_handler = SIG_IGN;
  ::sigaction(SIGUSR1, &handled, nullptr);
  CHECK(WEXITSTATUS(run({"sh", "-c", "kill -USR1 $$; exit 3"})) == 3);
  // Except this one, which the tool ignores for itself.
  struct sigaction limit = {};
  struct sigaction limit_before = {};
  limit.sa_handler = SIG_IGN;
  ::sigaction(SIGXFSZ, &limit, &limit_before);
  CHECK(WTERMSIG(run({"sh", "-c", "kill -XFSZ $$"})) == SIGXFSZ);
  ::sigaction(SIGXFSZ, &limit_before, nullptr);
  ::sigaction(SIGUSR1, &before, nullptr);
}

TEST_CASE("a signal that arrives before the program runs acts on the program") {
  sigset_t terminate;
  sigset_t before;
  ::sigemptyset(&terminate);
  ::sigaddset(&terminate, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &terminate, &before);
  const pid_t child = start_process({"sleep", "60"}, {"PATH=/bin:/usr/bin"}, {before, false});
  REQUIRE(child > 0);
  ::kill(child, SIGTERM);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WTERMSIG(status) == SIGTERM);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace
}  // namespace cubinet
