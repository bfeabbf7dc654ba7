// SPDX-License-Identifier: Apache-2.0
// Processes that exit while threads compile. Each is a child of its own, because NVRTC registers
// its destructors during the first compilation of each copy.
#include "jit/test_templates.hpp"
#include "support/compiler_search.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace cubinet;

namespace {

// Compiles on several threads, exits with 7 after `delay` and does not return.
[[noreturn]] void exit_while_compiling(unsigned threads, std::chrono::milliseconds delay) {
  const auto compiler = Compiler::open(test::compiler_search());
  if (!compiler) std::_Exit(1);
  const CompileRequest request = test::builtin_request("attention_decode", "sm_90a");
  for (unsigned i = 0; i < threads; ++i) {
    std::thread([compiler = *compiler, request] {
      while (compiler->compile(request)) {
      }
      ::pause();  // what this thread has is not destroyed beside what the exit destroys
    }).detach();
  }
  std::this_thread::sleep_for(delay);
  std::exit(7);
}

}  // namespace

TEST_CASE("exit waits for the threads that compile, also for the first compilation of each copy of NVRTC") {
  for (const unsigned threads : {1U, 9U}) {
    for (const int milliseconds : {50, 150, 400, 900}) {
      CAPTURE(threads);
      CAPTURE(milliseconds);
      const pid_t child = ::fork();
      REQUIRE(child >= 0);
      if (child == 0) exit_while_compiling(threads, std::chrono::milliseconds(milliseconds));
      int status = 0;
      REQUIRE(::waitpid(child, &status, 0) == child);
      CHECK_FALSE(WIFSIGNALED(status));
      CHECK(WEXITSTATUS(status) == 7);
    }
  }
}
