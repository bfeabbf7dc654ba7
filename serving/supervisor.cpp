// SPDX-License-Identifier: Apache-2.0
#include "command_process.hpp"

#include <cubinet/base/text.hpp>
#include <cubinet/serving/supervisor.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <optional>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace cubinet {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// The signals that end the supervisor when no command runs.
constexpr std::array<int, 4> kEndingSignals = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};
// The signals that stop every process of a job.
constexpr std::array<int, 3> kStopSignals = {SIGTSTP, SIGTTIN, SIGTTOU};
// A host program may take SIGCHLD in another thread, so the children are looked at this often.
constexpr milliseconds kLongestWait{1000};

bool is_ending(int signal) {
  return std::find(kEndingSignals.begin(), kEndingSignals.end(), signal) != kEndingSignals.end();
}

bool is_stop(int signal) {
  return std::find(kStopSignals.begin(), kStopSignals.end(), signal) != kStopSignals.end();
}

bool is_ignored(int signal) {
  struct sigaction action = {};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

int exit_status(int wait_status) {
  return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
}

// Returns the milliseconds until `end`, for poll().
int left_until(Clock::time_point end) {
  const auto left = std::chrono::ceil<milliseconds>(end - Clock::now());
  return static_cast<int>(std::clamp(left, milliseconds(0), kLongestWait).count());
}

// A descriptor that is closed at the end of its scope.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { reset(); }
  int number() const { return number_; }
  void reset(int number = -1) {
    if (number_ >= 0) ::close(number_);
    number_ = number;
  }

 private:
  int number_;
};

// Replaces a stream of this process by the null device.
void release_stream(int stream) {
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0) return;
  ::dup2(null, stream);
  ::close(null);
}

// Blocks all signals, which a supervisor takes, and restores the mask of the thread. A fault of the
// supervisor itself ends it even so, because the kernel does not keep such a signal. In process 1
// the kernel would drop unblocked signals of other processes. SIGCHLD has its default action
// meanwhile: the kernel would reap the children of a process that ignores it.
class BlockedSignals {
 public:
  BlockedSignals() {
    ::sigfillset(&taken_);
    inherited_.child_ignored = is_ignored(SIGCHLD);
    ::pthread_sigmask(SIG_BLOCK, &taken_, &inherited_.mask);
    struct sigaction by_default = {};
    by_default.sa_handler = SIG_DFL;
    ::sigaction(SIGCHLD, &by_default, &child_action_);
  }
  ~BlockedSignals() {
    // Signals that have arrived were for the command, which has ended.
    const timespec at_once = {};
    while (::sigtimedwait(&taken_, nullptr, &at_once) > 0) {
    }
    ::sigaction(SIGCHLD, &child_action_, nullptr);
    ::pthread_sigmask(SIG_SETMASK, &inherited_.mask, nullptr);
  }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;
  const sigset_t& taken() const { return taken_; }
  const InheritedSignals& inherited() const { return inherited_; }

 private:
  sigset_t taken_ = {};
  InheritedSignals inherited_;
  struct sigaction child_action_ = {};
};

class Supervisor {
 public:
  explicit Supervisor(const Supervision& supervision)
      : supervision_(supervision), is_init_(::getpid() == 1) {}

  int run();

 private:
  void start_helper();
  void await_helper();
  void start_command();
  void await_command();
  void await_end();
  // Waits for signals of the set, or for the helper. Returns whether the helper wrote or ended.
  bool wait(Clock::time_point end);
  void handle(const signalfd_siginfo& signal);
  void forward(const signalfd_siginfo& signal) const;
  void stop(int signal) const;
  void reap();
  void note_end(pid_t process, int wait_status);
  void kill_helper(const char* reason);
  void warn(const std::string& message) const { report(LogLevel::warning, message); }
  void report(LogLevel level, const std::string& message) const;

  const Supervision& supervision_;
  const bool is_init_;
  BlockedSignals signals_;
  Descriptor signal_queue_;
  Descriptor link_;  // to the helper
  pid_t helper_ = -1;
  pid_t command_ = -1;
  std::optional<int> status_;  // of the command
  int ended_by_ = 0;           // the signal that ended the supervision before or after the command
};

// Drops the message if stderr, where a log usually goes, is not read: the supervisor would wait
// for its reader instead of passing signals on.
void Supervisor::report(LogLevel level, const std::string& message) const {
  pollfd output = {STDERR_FILENO, POLLOUT, 0};
  if (::poll(&output, 1, 0) != 0) log(supervision_.log, level, message);
}

void Supervisor::start_helper() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return warn(std::string("the helper is not started: ") + std::strerror(errno));
  link_.reset(ends[0]);
  Descriptor theirs(ends[1]);
  helper_ = ::fork();
  if (helper_ < 0) return warn(std::string("the helper is not started: ") + std::strerror(errno));
  if (helper_ > 0) return;
  // The signals stay blocked: those of the terminal are for the command. The helper may be stopped.
  sigset_t stops;
  ::sigemptyset(&stops);
  for (const int signal : kStopSignals)
    ::sigaddset(&stops, signal);
  ::pthread_sigmask(SIG_UNBLOCK, &stops, nullptr);
  link_.reset();
  reset_handlers();
  // The reader of the command's output waits for the end of the command alone.
  release_stream(STDOUT_FILENO);
  HelperLink link(theirs.number());
  int status = 0;
  try {
    supervision_.helper(link);
  } catch (const std::exception& exception) {
    warn(std::string("the helper failed: ") + exception.what());
    status = 1;
  }
  ::_exit(status);
}

bool Supervisor::wait(Clock::time_point end) {
  std::array<pollfd, 2> waited = {
      {{signal_queue_.number(), POLLIN, 0}, {helper_ > 0 ? link_.number() : -1, POLLIN, 0}}};
  if (::poll(waited.data(), waited.size(), left_until(end)) > 0 && waited[0].revents != 0) {
    signalfd_siginfo signal = {};
    if (::read(signal_queue_.number(), &signal, sizeof(signal)) == sizeof(signal)) handle(signal);
  }
  return waited[1].revents != 0;
}

void Supervisor::handle(const signalfd_siginfo& signal) {
  const int number = static_cast<int>(signal.ssi_signo);
  reap();  // a command that has just ended gets no signal
  if (number == SIGCHLD) return;
  if (command_ > 0 && !status_)
    forward(signal);
  else if (is_ending(number))
    ended_by_ = number;
  if (is_stop(number)) stop(number);
}

// Stops this process as the signal would have done, until it is continued. The kernel does not stop
// process 1.
void Supervisor::stop(int signal) const {
  sigset_t one;
  ::sigemptyset(&one);
  ::sigaddset(&one, signal);
  ::raise(signal);
  ::pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
  ::pthread_sigmask(SIG_BLOCK, &one, nullptr);
}

void Supervisor::forward(const signalfd_siginfo& signal) const {
  const int number = static_cast<int>(signal.ssi_signo);
  const auto sender = static_cast<pid_t>(signal.ssi_pid);
  // A hang-up of the terminal is sent to the leader of its session alone, and a timer that was set
  // before this program was started belongs to the command.
  const bool is_hang_up = number == SIGHUP && ::getsid(0) == ::getpid();
  const bool is_timer = number == SIGALRM;
  // The kernel's other signals go to the whole group of the terminal or concern this process.
  if (signal.ssi_code > 0 && !is_hang_up && !is_timer) return;
  // A signal of the command to its group has reached the command. One that ends its parent may have
  // been sent to this process alone.
  const bool is_own = sender == ::getpid() || (sender == command_ && !is_ending(number));
  if (signal.ssi_code <= 0 && is_own) return;
  if (signal.ssi_code == SI_QUEUE) {
    sigval value = {};
    value.sival_ptr = reinterpret_cast<void*>(static_cast<std::uintptr_t>(signal.ssi_ptr));
    ::sigqueue(command_, number, value);
  } else {
    ::kill(command_, number);
  }
}

void Supervisor::reap() {
  int status = 0;
  if (is_init_) {
    for (pid_t ended = 0; (ended = ::waitpid(-1, &status, WNOHANG)) > 0;)
      note_end(ended, status);
    return;
  }
  for (const pid_t child : {command_, helper_}) {
    if (child > 0 && ::waitpid(child, &status, WNOHANG) == child) note_end(child, status);
  }
}

void Supervisor::note_end(pid_t process, int wait_status) {
  if (process == command_) {
    status_ = exit_status(wait_status);
  } else if (process == helper_) {
    helper_ = -1;
    if (WIFSIGNALED(wait_status))
      warn("the helper was ended by signal " + std::to_string(WTERMSIG(wait_status)));
  }
}

// A helper that waits for a device ends only when the device answers, so it is given up after a
// while.
void Supervisor::kill_helper(const char* reason) {
  ::kill(helper_, SIGKILL);
  const auto limit = Clock::now() + kLongestWait;
  while (::waitpid(helper_, nullptr, WNOHANG) == 0 && Clock::now() < limit)
    std::this_thread::sleep_for(milliseconds(1));
  helper_ = -1;
  warn(reason);
}

// Waits until the helper lets the command start. Takes only the signals that prevent the start or
// stop the job, so that the others are passed on to the command.
void Supervisor::await_helper() {
  sigset_t ending;
  ::sigemptyset(&ending);
  ::sigaddset(&ending, SIGCHLD);
  for (const int signal : kEndingSignals) {
    if (!is_ignored(signal)) ::sigaddset(&ending, signal);
  }
  for (const int signal : kStopSignals)
    ::sigaddset(&ending, signal);
  signal_queue_.reset(::signalfd(-1, &ending, SFD_CLOEXEC | SFD_NONBLOCK));
  const auto limit = Clock::now() + supervision_.start_limit;
  while (helper_ > 0 && ended_by_ == 0) {
    if (wait(limit)) {
      char byte = 0;
      if (::recv(link_.number(), &byte, 1, MSG_DONTWAIT) == 1) return;
      link_.reset();
    }
    reap();
    if (helper_ > 0 && ended_by_ == 0 && Clock::now() >= limit)
      kill_helper("the command starts without what was not put in time");
  }
  if (helper_ > 0) kill_helper("a signal arrived before the command was started");
}

void Supervisor::start_command() {
  signal_queue_.reset(::signalfd(-1, &signals_.taken(), SFD_CLOEXEC | SFD_NONBLOCK));
  command_ = start_process(supervision_.command, supervision_.environment, signals_.inherited());
  if (command_ > 0) {
    if (supervision_.releases_streams) {
      release_stream(STDIN_FILENO);
      release_stream(STDOUT_FILENO);
    }
    return;
  }
  const int number = errno;
  status_ = number == ENOENT || number == ENOTDIR ? 127 : 126;
  report(LogLevel::error, "cannot run '" + printable(supervision_.command.front(), kQuotedBytes) +
                              "': " + std::strerror(number));
}

void Supervisor::await_command() {
  while (!status_) {
    wait(Clock::time_point::max());
    reap();
  }
}

void Supervisor::await_end() {
  link_.reset();  // tells the helper that the command has ended
  const auto limit = Clock::now() + supervision_.end_limit;
  while (helper_ > 0 && ended_by_ == 0 && Clock::now() < limit) {
    wait(limit);
    reap();
  }
  if (helper_ > 0)
    kill_helper(ended_by_ != 0 ? "a signal ended the adoption" : "the adoption was ended at its time limit");
}

int Supervisor::run() {
  start_helper();
  await_helper();
  if (ended_by_ != 0) return 128 + ended_by_;
  start_command();
  await_command();
  await_end();
  return *status_;
}

}  // namespace

void HelperLink::ready() {
  if (!std::exchange(is_ready_, true)) (void)!::send(descriptor_, "", 1, MSG_NOSIGNAL);
}

bool HelperLink::ended_within(std::chrono::milliseconds time) {
  const auto end = Clock::now() + time;
  while (Clock::now() < end) {
    pollfd waited = {descriptor_, POLLIN, 0};
    if (::poll(&waited, 1, left_until(end)) > 0) return true;
  }
  return false;
}

int supervise(const Supervision& supervision) {
  return Supervisor(supervision).run();
}

}  // namespace cubinet
