// SPDX-License-Identifier: Apache-2.0
#include "tool.hpp"

#include "support/compiler_search.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <grp.h>
#include <poll.h>
#include <sstream>
#include <stdexcept>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace cubinet::test {
namespace {

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

struct Channel {
  int parent = -1;
  int child = -1;
};

Channel make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) fail("pipe2");
  return {ends[0], ends[1]};
}

Channel make_terminal() {
  const int master = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (master < 0 || ::grantpt(master) != 0 || ::unlockpt(master) != 0) fail("posix_openpt");
  const int slave = ::open(::ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (slave < 0) fail("open of a terminal");
  return {master, slave};
}

std::vector<std::string> environment_of(const ToolSetting& setting) {
  // The first value wins if a variable is set twice.
  std::vector<std::string> environment;
  for (const auto& [name, value] : setting.environment)
    environment.push_back(name + "=" + value);
  environment.push_back(std::string("CUDA_HOME=") + cuda_root());
  for (const char* name : {"PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "LSAN_OPTIONS"}) {
    if (const char* value = std::getenv(name)) environment.push_back(std::string(name) + "=" + value);
  }
  return environment;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts)
    result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

// Runs in the forked child, which may only use system calls.
[[noreturn]] void become_tool(const ToolSetting& setting, int out, int err, char* const* arguments,
                              char* const* environment) {
  const int null = ::open("/dev/null", O_RDONLY);
  bool ready =
      ::dup2(null, STDIN_FILENO) >= 0 && ::dup2(out, STDOUT_FILENO) >= 0 && ::dup2(err, STDERR_FILENO) >= 0;
  if (!setting.folder.empty()) ready = ready && ::chdir(setting.folder.c_str()) == 0;
  if (setting.user) {
    ready =
        ready && ::setgroups(0, nullptr) == 0 && ::setgid(*setting.user) == 0 && ::setuid(*setting.user) == 0;
  }
  ::signal(SIGINT, SIG_DFL);   // tests that run in the background inherit an ignored signal
  ::signal(SIGTERM, SIG_DFL);  // the test framework handles it
  if (ready) ::execve(arguments[0], arguments, environment);
  ::_exit(127);
}

class Reader {
 public:
  Reader(int descriptor, std::string& text) : descriptor_(descriptor), text_(text) {}
  bool open() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }
  void read_some() {
    std::array<char, 65536> block{};
    const ssize_t count = ::read(descriptor_, block.data(), block.size());
    if (count > 0) {
      text_.append(block.data(), static_cast<std::size_t>(count));
    } else if (count == 0 || errno != EINTR) {  // a terminal returns EIO if its other end is closed
      ::close(descriptor_);
      descriptor_ = -1;
    }
  }

 private:
  int descriptor_;
  std::string& text_;
};

// Sends the interrupts that are due. Returns the milliseconds to the next one, or -1 if none is
// left.
class Interrupts {
 public:
  Interrupts(pid_t child, const ToolSetting& setting)
      : child_(child), signal_(setting.signal), waits_(setting.interrupt_milliseconds) {}

  int send_due() {
    while (sent_ < waits_.size()) {
      const auto passed = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - last_);
      if (passed.count() < waits_[sent_]) return waits_[sent_] - static_cast<int>(passed.count());
      ::kill(child_, signal_);
      last_ = Clock::now();
      ++sent_;
    }
    return -1;
  }

 private:
  using Clock = std::chrono::steady_clock;
  pid_t child_;
  int signal_;
  const std::vector<int>& waits_;
  Clock::time_point last_ = Clock::now();
  std::size_t sent_ = 0;
};

void drain(pid_t child, Reader& out, Reader& err, const ToolResult& result, const ToolSetting& setting) {
  bool interrupted = setting.interrupt_after.empty();
  Interrupts interrupts(child, setting);
  while (out.open() || err.open()) {
    std::array<pollfd, 2> waited = {{{out.descriptor(), POLLIN, 0}, {err.descriptor(), POLLIN, 0}}};
    if (::poll(waited.data(), waited.size(), interrupts.send_due()) < 0 && errno != EINTR) fail("poll");
    if (waited[0].revents != 0) out.read_some();
    if (waited[1].revents != 0) err.read_some();
    if (!interrupted && contains(result.err, setting.interrupt_after)) {
      ::kill(child, setting.signal);
      interrupted = true;
    }
  }
}

}  // namespace

const char* tool_path() {
  // Returns the path where the tool was built, or where scripts/gpu_check.sh finds the tree now.
  const char* moved = std::getenv("CUBINET_TEST_TOOL");
  return moved != nullptr ? moved : CUBINET_TOOL;
}

ToolResult run_tool(const std::vector<std::string>& arguments, const ToolSetting& setting) {
  std::vector<std::string> words = {setting.executable.empty() ? tool_path() : setting.executable.string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> variables = environment_of(setting);
  const std::vector<char*> argument_pointers = pointers(words);
  const std::vector<char*> environment_pointers = pointers(variables);
  const Channel out = make_pipe();
  const Channel err = setting.stderr_is_terminal ? make_terminal() : make_pipe();
  int out_end = out.child;
  if (!setting.stdout_file.empty()) {
    out_end = ::open(setting.stdout_file.c_str(), O_WRONLY | O_CLOEXEC);
    if (out_end < 0) fail("open of the file for stdout");
  }
  const pid_t child = ::fork();
  if (child < 0) fail("fork");
  if (child == 0)
    become_tool(setting, out_end, err.child, argument_pointers.data(), environment_pointers.data());
  ::close(out.child);
  ::close(err.child);
  if (out_end != out.child) ::close(out_end);
  ToolResult result;
  Reader out_reader(out.parent, result.out);
  Reader err_reader(err.parent, result.err);
  drain(child, out_reader, err_reader, result, setting);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) fail("waitpid");
  }
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

void Sandbox::write(std::string_view name, std::string_view content) const {
  std::ofstream file(folder_ / name, std::ios::binary);
  file.write(content.data(), static_cast<std::streamsize>(content.size()));
  if (!file.flush()) throw std::runtime_error("cannot write " + path(name));
}

std::string Sandbox::read(std::string_view name) const {
  std::ifstream file(folder_ / name, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  if (!file) throw std::runtime_error("cannot read " + path(name));
  return content.str();
}

ToolResult Sandbox::run(std::vector<std::string> arguments, const ToolSetting& setting) const {
  arguments.emplace_back("--home");
  arguments.push_back(home().string());
  return run_tool(arguments, setting);
}

}  // namespace cubinet::test
