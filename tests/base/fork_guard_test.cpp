// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/fork_guard.hpp>

#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

namespace cubinet {
namespace {

TEST_CASE("a forked child is told apart from the process that made the guard") {
  for (const ForkGuard::Mechanism mechanism :
       {ForkGuard::Mechanism::wiped_page, ForkGuard::Mechanism::fork_handler}) {
    const ForkGuard guard(mechanism);
    CHECK(guard.in_original_process());
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      const ForkGuard own(mechanism);  // a guard made in the child belongs to the child
      ::_exit(!guard.in_original_process() && own.in_original_process() ? 0 : 1);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
    CHECK(guard.in_original_process());
  }
}

int status_of_child(int (*body)()) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) ::_exit(body());
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return status == 0 ? 0 : 1;
}

ForkHazard hazard;

TEST_CASE("nobody goes where a thread was inside when the process forked") {
  CHECK(hazard.enter());
  CHECK(status_of_child([] { return hazard.enter() && hazard.enter() ? 0 : 1; }) == 0);
  {
    const auto stay = hazard.enter();
    CHECK(status_of_child([] { return hazard.enter() || hazard.enter() ? 1 : 0; }) == 0);
    // A child of that child may not enter either.
    CHECK(status_of_child([] { return status_of_child([] { return hazard.enter() ? 1 : 0; }); }) == 0);
    CHECK(hazard.enter());
  }
  CHECK(status_of_child([] { return hazard.enter() ? 0 : 1; }) == 0);
}

TEST_CASE("a thread that forks inside comes out in both processes") {
  const pid_t child = [] {
    const auto stay = hazard.enter();
    return ::fork();
  }();
  REQUIRE(child >= 0);
  if (child == 0) ::_exit(hazard.enter() ? 0 : 1);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(hazard.enter());
}

}  // namespace
}  // namespace cubinet
