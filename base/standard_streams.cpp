// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/standard_streams.hpp>

#include <cerrno>
#include <fcntl.h>
#include <initializer_list>
#include <unistd.h>

namespace cubinet {

void occupy_closed_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // open() takes the lowest free number, which is this one. stdout is opened for reading only, so
    // that writing to it still returns an error.
    if (::fcntl(stream, F_GETFD) < 0 && errno == EBADF)
      static_cast<void>(::open("/dev/null", stream == STDERR_FILENO ? O_WRONLY : O_RDONLY));
  }
}

}  // namespace cubinet
