// SPDX-License-Identifier: Apache-2.0
#include "exit_status.hpp"

#include <cubinet/base/standard_streams.hpp>
#include <cubinet/cubinet.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <unistd.h>
#include <vector>

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
  cubinet::occupy_closed_streams();
  // Ignores SIGXFSZ, so that a write beyond `ulimit -f` returns an error, like a write to a full
  // disk, instead of ending the process.
  std::signal(SIGXFSZ, SIG_IGN);
  std::set_terminate(report_terminate);
  std::vector<cubinet_string> words;
  for (int i = 1; i < argc; ++i)
    words.push_back(cubinet_str(argv[i]));
  std::int32_t status = 1;
  // The command reports its errors itself. Only a lack of memory for that report arrives here.
  if (cubinet_command(words.data(), words.size(), environ, &status, nullptr, nullptr) != CUBINET_OK)
    std::fputs("cubinet: error: internal error: out of memory\n", stderr);
  return status;
}
