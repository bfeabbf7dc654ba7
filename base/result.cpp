// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/result.hpp>
#include <cubinet/base/text.hpp>

#include <cstdio>
#include <cstdlib>

namespace cubinet {

void stop_at_error(const Error& error) {
  std::fprintf(stderr, "cubinet: a value was read of a Result that holds an error: %s\n",
               printable(error.to_line()).c_str());
  std::abort();
}

void stop_without_error() {
  std::fputs("cubinet: the error was read of a Result that holds none\n", stderr);
  std::abort();
}

}  // namespace cubinet
