// SPDX-License-Identifier: Apache-2.0
#include "support/temp_dir.hpp"
#include "support/text.hpp"

#include <cubinet/serving/supervisor.hpp>

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <sys/time.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace cubinet {
namespace {

namespace fs = std::filesystem;
using test::TempDir;
using namespace std::chrono_literals;

// Supervises a script of the shell, in a folder of its own.
struct Shell {
  TempDir temp;
  std::string logged;
  Supervision supervision;

  explicit Shell(const std::string& script) {
    supervision.command = {"sh", "-c", "cd " + temp.path().string() + "; " + script};
    supervision.environment = {"PATH=/bin:/usr/bin"};
    supervision.helper = [](HelperLink& link) { link.ready(); };
    supervision.start_limit = 1min;
    supervision.end_limit = 1min;
    supervision.log = [this](const LogRecord& record) { logged += std::string(record.message) + "\n"; };
  }
  int run() const { return supervise(supervision); }
  bool has(const char* file) const { return fs::exists(temp / file); }
};

void wait_for(const fs::path& file) {
  while (!fs::exists(file))
    ::usleep(1000);
}

std::string first_line(const fs::path& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  return line;
}

TEST_CASE("the status is that of the command, or 128 plus its signal") {
  CHECK(Shell("exit 0").run() == 0);
  CHECK(Shell("exit 7").run() == 7);
  CHECK(Shell("kill -KILL $$").run() == 137);
  CHECK(Shell("kill -SEGV $$").run() == 139);
}

TEST_CASE("a command that cannot be run has the status of a shell") {
  Shell shell("");
  shell.supervision.command = {"no-such-program"};
  CHECK(shell.run() == 127);
  shell.supervision.command = {shell.temp.path().string()};
  CHECK(shell.run() == 126);
  CHECK(test::contains(shell.logged, "cannot run 'no-such-program'"));
}

TEST_CASE("the command starts when the helper lets it, and the helper learns of its end") {
  Shell shell("test -e put && touch ran");
  const fs::path folder = shell.temp.path();
  shell.supervision.helper = [folder](HelperLink& link) {
    test::write_file(folder / "put", "");
    link.ready();
    while (!link.ended_within(1h)) {
    }
    if (fs::exists(folder / "ran")) test::write_file(folder / "seen", "");
  };
  CHECK(shell.run() == 0);
  CHECK(shell.has("seen"));
  CHECK(shell.logged.empty());
}

TEST_CASE("whatever the helper does, the command runs and its status is kept") {
  const std::vector<void (*)(HelperLink&)> helpers = {
      [](HelperLink&) {},
      [](HelperLink&) { ::_exit(3); },
      [](HelperLink&) { ::raise(SIGKILL); },
      [](HelperLink&) { throw std::runtime_error("broken"); },
      [](HelperLink& link) {
        link.ready();
        link.ready();
        ::raise(SIGKILL);
      },
      // These two never end by themselves.
      [](HelperLink&) { ::pause(); },
      [](HelperLink& link) {
        link.ready();
        ::pause();
      },
  };
  for (const auto& helper : helpers) {
    Shell shell("touch ran; exit 7");
    shell.supervision.helper = helper;
    shell.supervision.start_limit = 20ms;
    shell.supervision.end_limit = 20ms;
    CHECK(shell.run() == 7);
    CHECK(shell.has("ran"));
    CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);  // no child is left
  }
}

TEST_CASE("a signal before the start prevents it") {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) {
    Shell shell("touch ran");
    shell.supervision.helper = [signal](HelperLink&) {
      ::kill(::getppid(), signal);
      ::pause();
    };
    CHECK(shell.run() == 128 + signal);
    CHECK_FALSE(shell.has("ran"));
  }
}

TEST_CASE("another signal before the start is passed on to the command") {
  Shell shell("touch ran; exec sleep 60");
  shell.supervision.helper = [](HelperLink& link) {
    ::kill(::getppid(), SIGUSR1);
    link.ready();
  };
  CHECK(shell.run() == 128 + SIGUSR1);
}

TEST_CASE("a signal after the end of the command ends the helper and keeps the status") {
  Shell shell("exit 7");
  shell.supervision.helper = [](HelperLink& link) {
    link.ready();
    while (!link.ended_within(1h)) {
    }
    ::kill(::getppid(), SIGTERM);
    ::pause();
  };
  shell.supervision.end_limit = 1h;
  CHECK(shell.run() == 7);
  CHECK(test::contains(shell.logged, "signal"));
}

TEST_CASE("every signal of another process reaches the command" * doctest::test_suite("loop")) {
  std::vector<int> signals = {SIGHUP,  SIGINT,  SIGQUIT,   SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH, SIGURG,
                              SIGALRM, SIGABRT, SIGVTALRM, SIGPROF, SIGIO,   SIGPWR,  SIGSEGV,  SIGBUS,
                              SIGFPE,  SIGILL,  SIGTRAP,   SIGSYS,  SIGXCPU, SIGXFSZ, SIGCONT};
  for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal)
    signals.push_back(signal);
  for (const int signal : signals) {
    const std::string number = std::to_string(signal);
    Shell shell("trap 'exit 42' " + number + "; touch ready; while :; do sleep 0.01; done");
    const fs::path ready = shell.temp / "ready";
    shell.supervision.helper = [signal, ready](HelperLink& link) {
      link.ready();
      wait_for(ready);
      ::kill(::getppid(), signal);
    };
    CAPTURE(signal);
    CHECK(shell.run() == 42);
  }
}

TEST_CASE("a signal of the command that ends its parent comes back to the command") {
  for (const char* signal : {"TERM", "INT", "HUP", "QUIT"}) {
    const std::string name = signal;
    CHECK(
        Shell("trap 'exit 42' " + name + "; kill -" + name + " $PPID; while :; do sleep 0.01; done").run() ==
        42);
  }
}

TEST_CASE("an alarm that was set before the start reaches the command") {
  Shell shell("exec sleep 60");
  const itimerval soon = {{}, {0, 50000}};
  ::setitimer(ITIMER_REAL, &soon, nullptr);
  CHECK(shell.run() == 128 + SIGALRM);
}

TEST_CASE("a signal of a process that stops a job stops both, and one that continues continues both") {
  for (const int signal : {SIGTSTP, SIGTTIN, SIGTTOU}) {
    Shell shell("trap 'exit 42' USR1; echo $$ > pid; mv pid ready; while :; do sleep 0.01; done");
    const pid_t supervisor = ::fork();
    if (supervisor == 0) {
      ::setpgid(0, 0);
      ::_exit(shell.run());
    }
    wait_for(shell.temp / "ready");
    ::kill(supervisor, signal);
    int status = 0;
    REQUIRE(::waitpid(supervisor, &status, WUNTRACED) == supervisor);
    REQUIRE(WIFSTOPPED(status));
    const std::string command = first_line(shell.temp / "ready");
    const auto is_stopped = [&] {
      const std::string state = first_line("/proc/" + command + "/stat");
      return state.at(state.rfind(')') + 2) == 'T';
    };
    while (!is_stopped())
      ::usleep(1000);
    ::kill(supervisor, SIGCONT);
    while (is_stopped())
      ::usleep(1000);
    ::kill(supervisor, SIGUSR1);
    REQUIRE(::waitpid(supervisor, &status, 0) == supervisor);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 42);
  }
}

TEST_CASE("a reader of the output of the command sees its end while the helper still works") {
  std::array<int, 2> ends{};
  REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
  Shell shell("echo out");
  const pid_t supervisor = ::fork();
  if (supervisor == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    ::close(ends[1]);
    shell.supervision.releases_streams = true;
    shell.supervision.helper = [](HelperLink& link) {
      link.ready();
      ::pause();
    };
    ::_exit(shell.run());
  }
  ::close(ends[1]);
  std::array<char, 16> text{};
  CHECK(::read(ends[0], text.data(), text.size()) == 4);
  CHECK(::read(ends[0], text.data(), text.size()) == 0);
  ::close(ends[0]);
  CHECK(::waitpid(supervisor, nullptr, WNOHANG) == 0);  // it waits for its helper
  // The first signals may still be for the command: its output is closed before it has ended.
  int status = 0;
  pid_t ended = 0;
  while ((ended = ::waitpid(supervisor, &status, WNOHANG)) == 0) {
    ::kill(supervisor, SIGTERM);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  REQUIRE(ended == supervisor);
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("a signal that the command sends to its group reaches it once") {
  // The helper is in the group, too, and blocks signals.
  Shell shell("trap 'echo x >> count' USR1; kill -USR1 $PPID; kill -USR1 $$; sleep 0; exit $(wc -l < count)");
  CHECK(shell.run() == 1);
}

TEST_CASE("a caller that ignores the ends of children gets the status, and the command ignores them, too") {
  struct sigaction ignored = {};
  struct sigaction before = {};
  ignored.sa_handler = SIG_IGN;
  ::sigaction(SIGCHLD, &ignored, &before);
  CHECK(Shell("exit 7").run() == 7);
  Shell shell("");
  // Bit 16 is SIGCHLD.
  shell.supervision.command = {"grep", "-q", "^SigIgn:.*[13579bdf]....$", "/proc/self/status"};
  CHECK(shell.run() == 0);
  struct sigaction after = {};
  ::sigaction(SIGCHLD, &before, &after);
  const bool still_ignored = after.sa_handler == SIG_IGN;
  CHECK(still_ignored);
}

TEST_CASE("the mask of the caller is as before, and is that of the command") {
  sigset_t usr2;
  sigset_t before;
  ::sigemptyset(&usr2);
  ::sigaddset(&usr2, SIGUSR2);
  ::pthread_sigmask(SIG_BLOCK, &usr2, &before);
  // Bit 11 is SIGUSR2, which the caller blocks; no other is blocked. A shell would clear its mask.
  Shell shell("");
  shell.supervision.command = {"grep", "-q", "^SigBlk:.0*800$", "/proc/self/status"};
  CHECK(shell.run() == 0);
  sigset_t after;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &after);
  for (int signal = 1; signal < NSIG; ++signal)
    CHECK(::sigismember(&after, signal) == (signal == SIGUSR2 ? 1 : 0));
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST_CASE("a helper that closes its link and never ends does not keep the command from starting") {
  Shell shell("touch ran; exit 7");
  shell.supervision.start_limit = 20ms;
  shell.supervision.helper = [](HelperLink&) {
    for (int descriptor = 3; descriptor < 1024; ++descriptor)
      ::close(descriptor);
    for (;;)
      ::pause();
  };
  CHECK(shell.run() == 7);
  CHECK(shell.has("ran"));
  CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);
}

TEST_CASE("a stderr that nobody reads keeps neither the command nor its status") {
  std::array<int, 2> ends{};
  REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
  REQUIRE(::fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0);
  while (::write(ends[1], "x", 1) == 1) {
  }
  REQUIRE(::fcntl(ends[1], F_SETFL, 0) == 0);
  const int own = ::dup(STDERR_FILENO);
  for (const bool is_ready : {false, true}) {
    Shell shell("exit 7");
    shell.supervision.start_limit = 20ms;
    shell.supervision.end_limit = 20ms;
    shell.supervision.helper = [is_ready](HelperLink& link) {
      if (is_ready) link.ready();
      ::pause();
    };
    shell.supervision.log = [](const LogRecord&) { (void)!::write(STDERR_FILENO, "x", 1); };
    ::dup2(ends[1], STDERR_FILENO);
    const int status = shell.run();
    ::dup2(own, STDERR_FILENO);
    CHECK(status == 7);
  }
  for (const int descriptor : {own, ends[0], ends[1]})
    ::close(descriptor);
}

}  // namespace
}  // namespace cubinet
