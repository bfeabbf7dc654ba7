// SPDX-License-Identifier: Apache-2.0
#include "application.hpp"
#include "console.hpp"
#include "exit_status.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <unistd.h>

namespace {

// Reports that memory ran out in a function that may not throw, such as the destructor of a JSON
// document.
[[noreturn]] void report_terminate() {
  try {
    if (const auto exception = std::current_exception()) std::rethrow_exception(exception);
  } catch (const std::bad_alloc&) {
    std::fputs("cubinet: error: the memory does not suffice for this\n", stderr);
    std::_Exit(static_cast<int>(cubinet::cli::ExitStatus::environment));
  } catch (...) {
  }
  std::abort();
}

}  // namespace

int main(int argc, char** argv) {
  cubinet::cli::occupy_closed_streams();
  // Ignores SIGXFSZ, so that a write beyond `ulimit -f` returns an error, like a write to a full
  // disk, instead of ending the process.
  std::signal(SIGXFSZ, SIG_IGN);
  std::set_terminate(report_terminate);
  try {
    return cubinet::cli::run(argc, argv, cubinet::EnvironmentVariables(environ));
  } catch (...) {
    // run() reports every exception. An exception that arrives here was thrown by the report
    // itself.
    std::fputs("cubinet: error: internal error: out of memory\n", stderr);
    return 1;
  }
}
