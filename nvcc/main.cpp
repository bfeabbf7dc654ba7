// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/standard_streams.hpp>
#include <cubinet/nvcc/driver.hpp>

#include <csignal>
#include <unistd.h>

int main(int argc, char** argv) {
  cubinet::occupy_closed_streams();
  // A write beyond `ulimit -f` then returns an error instead of ending the process.
  std::signal(SIGXFSZ, SIG_IGN);
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  return cubinet::nvcc::run(arguments, cubinet::EnvironmentVariables(environ), "/proc/self/exe");
}
