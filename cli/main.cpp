// SPDX-License-Identifier: Apache-2.0
#include "application.hpp"
#include "console.hpp"

#include <csignal>
#include <cstdio>
#include <exception>
#include <unistd.h>

int main(int argc, char** argv) {
  cubinet::cli::occupy_closed_streams();
  // A write beyond `ulimit -f` fails as one to a full disk does, and is told, instead of ending the process.
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    return cubinet::cli::run(argc, argv, cubinet::EnvironmentVariables(environ));
  } catch (...) {
    // `run` reports every exception it meets; what arrives here failed while reporting.
    std::fputs("cubinet: error: internal error: out of memory\n", stderr);
    return 1;
  }
}
