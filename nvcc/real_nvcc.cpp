// SPDX-License-Identifier: Apache-2.0
#include "real_nvcc.hpp"

#include <cubinet/base/text.hpp>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cubinet::nvcc {
namespace {

bool is_program(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

bool is_same_file(const std::string& path, const std::string& other) {
  struct stat one {
  }, two{};
  return ::stat(path.c_str(), &one) == 0 && ::stat(other.c_str(), &two) == 0 && one.st_dev == two.st_dev &&
         one.st_ino == two.st_ino;
}

std::vector<std::string> usual_paths(const EnvironmentVariables& environment) {
  std::vector<std::string> paths;
  for (const std::string_view variable : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const auto root = environment.find(variable)) paths.push_back(*root + "/bin/nvcc");
  }
  std::string_view list;
  const std::string folders = environment.find("PATH").value_or("");
  for (list = folders; !list.empty();) {
    const std::size_t end = std::min(list.find(':'), list.size());
    if (end > 0) paths.push_back(std::string(list.substr(0, end)) + "/nvcc");
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  paths.emplace_back("/usr/local/cuda/bin/nvcc");
  return paths;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts)
    pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// The arguments and the environment that nvcc is started with.
class Invocation {
 public:
  Invocation(const std::string& nvcc, const std::vector<std::string>& arguments,
             const EnvironmentVariables& environment)
      : words_{nvcc}, variables_(environment.lines()) {
    words_.insert(words_.end(), arguments.begin(), arguments.end());
    variables_.push_back(std::string(kInsideVariable) + "=1");
    arguments_ = pointers_to(words_);
    environment_ = pointers_to(variables_);
  }
  Invocation(const Invocation&) = delete;
  Invocation& operator=(const Invocation&) = delete;

  char* const* arguments() const { return arguments_.data(); }
  char* const* environment() const { return environment_.data(); }

 private:
  std::vector<std::string> words_;
  std::vector<std::string> variables_;
  std::vector<char*> arguments_;
  std::vector<char*> environment_;
};

Error cannot_run(const std::string& nvcc, int error) {
  return io_error("cannot run '" + printable(nvcc) + "'", error);
}

}  // namespace

Result<std::string> find_real_nvcc(const EnvironmentVariables& environment, const std::string& own) {
  if (environment.find(kInsideVariable)) {
    return Error{ErrorCode::invalid_argument, "the nvcc that cubinet-nvcc runs is cubinet-nvcc again",
                 "name NVIDIA's nvcc with `CUBINET_NVCC`"};
  }
  if (const auto named = environment.find("CUBINET_NVCC")) {
    if (is_same_file(*named, own)) {
      return Error{ErrorCode::invalid_argument,
                   "`CUBINET_NVCC` names cubinet-nvcc itself ('" + printable(*named) + "')",
                   "name NVIDIA's nvcc, or unset the variable"};
    }
    if (is_program(*named)) return *named;
    return Error{ErrorCode::invalid_argument,
                 "`CUBINET_NVCC` names '" + printable(*named) + "', which is no executable file",
                 "name NVIDIA's nvcc, or unset the variable"};
  }
  for (const std::string& path : usual_paths(environment)) {
    if (is_program(path) && !is_same_file(path, own)) return path;
  }
  return Error{ErrorCode::not_found, "there is no nvcc in CUDA_HOME, CUDA_PATH, PATH or /usr/local/cuda",
               "install the CUDA toolkit, or name its nvcc with `CUBINET_NVCC`"};
}

Result<int> run_real_nvcc(const std::string& nvcc, const std::vector<std::string>& arguments,
                          const EnvironmentVariables& environment) {
  const Invocation invocation(nvcc, arguments, environment);
  // cubinet-nvcc ignores SIGXFSZ, which its child would inherit.
  posix_spawnattr_t attributes;
  if (const int failed = ::posix_spawnattr_init(&attributes); failed != 0) return cannot_run(nvcc, failed);
  sigset_t usual;
  ::sigemptyset(&usual);
  ::sigaddset(&usual, SIGXFSZ);
  ::posix_spawnattr_setsigdefault(&attributes, &usual);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  pid_t child = -1;
  const int failed = ::posix_spawn(&child, nvcc.c_str(), nullptr, &attributes, invocation.arguments(),
                                   invocation.environment());
  ::posix_spawnattr_destroy(&attributes);
  if (failed != 0) return cannot_run(nvcc, failed);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return io_error("cannot wait for '" + printable(nvcc) + "'", errno);
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

Error become_real_nvcc(const std::string& nvcc, const std::vector<std::string>& arguments,
                       const EnvironmentVariables& environment) {
  const Invocation invocation(nvcc, arguments, environment);
  const auto ignored = std::signal(SIGXFSZ, SIG_DFL);
  ::execve(nvcc.c_str(), invocation.arguments(), invocation.environment());
  const int failed = errno;
  std::signal(SIGXFSZ, ignored);
  return cannot_run(nvcc, failed);
}

}  // namespace cubinet::nvcc
