// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/result.hpp>
#include <cubinet/base/result_guard.hpp>
#include <cubinet/base/text.hpp>

#include <cstdio>
#include <cstdlib>

namespace cubinet {
namespace {

thread_local int result_guards = 0;

[[noreturn]] void stop(const std::string& message) {
  if (result_guards > 0) throw ResultMisuse{{ErrorCode::internal, message, "report this defect of cubinet"}};
  std::fprintf(stderr, "cubinet: %s\n", printable(message).c_str());
  std::abort();
}

}  // namespace

ResultGuard::ResultGuard(bool active) : active_(active) {
  result_guards += active_ ? 1 : 0;
}

ResultGuard::~ResultGuard() {
  result_guards -= active_ ? 1 : 0;
}

bool ResultGuard::guards_this_thread() {
  return result_guards > 0;
}

void stop_at_error(const Error& error) {
  stop("a value was read of a Result that holds an error: " + error.to_line());
}

void stop_without_error() {
  stop("the error was read of a Result that holds none");
}

}  // namespace cubinet
