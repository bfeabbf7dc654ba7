// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/standard_streams.hpp>

#include <doctest/doctest.h>

#include <fcntl.h>
#include <initializer_list>
#include <sys/wait.h>
#include <unistd.h>

namespace cubinet {
namespace {

TEST_CASE("No file that is opened later takes the number of a stream that is closed") {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
      ::close(stream);
    occupy_closed_streams();
    const bool apart = ::open("/dev/zero", O_RDONLY) > STDERR_FILENO;
    // Lost data causes an error.
    const bool noticed = ::write(STDOUT_FILENO, "x", 1) < 0 && ::write(STDERR_FILENO, "x", 1) == 1;
    ::_exit(apart && noticed ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

}  // namespace
}  // namespace cubinet
