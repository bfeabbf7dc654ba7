// SPDX-License-Identifier: Apache-2.0
#include "command_process.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cubinet {
namespace {

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts)
    pointers.push_back(const_cast<char*>(text.c_str()));  // exec's signature predates const
  pointers.push_back(nullptr);
  return pointers;
}

// Runs in the forked child, which may only use system calls. Signals that arrive before the end are
// blocked and pending, and act as they would on the program.
[[noreturn]] void become_program(pid_t parent, int failures, char* const* command, char** environment,
                                 const InheritedSignals& signals) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);  // the parent ended before the call
  reset_handlers();
  // The tool ignores SIGXFSZ for itself.
  std::signal(SIGXFSZ, SIG_DFL);
  std::signal(SIGCHLD, signals.child_ignored ? SIG_IGN : SIG_DFL);
  ::sigprocmask(SIG_SETMASK, &signals.mask, nullptr);
  environ = environment;
  ::execvp(command[0], command);
  const int number = errno;
  // Without the number the parent sees a program that has started and ended.
  (void)!::write(failures, &number, sizeof(number));
  ::_exit(1);
}

}  // namespace

void reset_handlers() {
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction action = {};
    if (::sigaction(signal, nullptr, &action) != 0 || action.sa_handler == SIG_IGN) continue;
    action = {};
    action.sa_handler = SIG_DFL;
    ::sigaction(signal, &action, nullptr);
  }
}

pid_t start_process(const std::vector<std::string>& command, const std::vector<std::string>& environment,
                    const InheritedSignals& signals) {
  std::array<int, 2> failures{};
  if (::pipe2(failures.data(), O_CLOEXEC) != 0) return -1;
  const std::vector<char*> words = pointers_to(command);
  std::vector<char*> variables = pointers_to(environment);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) become_program(parent, failures[1], words.data(), variables.data(), signals);
  int number = child < 0 ? errno : 0;
  ::close(failures[1]);
  if (child > 0) {
    ssize_t count = 0;
    do {
      count = ::read(failures[0], &number, sizeof(number));
    } while (count < 0 && errno == EINTR);
    if (count != sizeof(number)) number = 0;  // exec has closed the pipe
    if (number != 0) ::waitpid(child, nullptr, 0);
  }
  ::close(failures[0]);
  errno = number;
  return number == 0 ? child : -1;
}

}  // namespace cubinet
