// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/result.hpp>

#include <doctest/doctest.h>

#include <csignal>
#include <memory>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace cubinet {
namespace {

Result<int> half(int value) {
  if (value % 2 != 0) return Error{ErrorCode::invalid_argument, std::to_string(value) + " is odd"};
  return value / 2;
}

Result<int> quarter(int value) {
  CUBINET_TRY_ASSIGN(const int once, half(value));
  CUBINET_TRY_ASSIGN(const int twice, half(once));
  return twice;
}

Result<void> check_even(int value) {
  CUBINET_TRY(half(value));
  return {};
}

TEST_CASE("a result holds a value or an error") {
  CHECK(*half(4) == 2);
  CHECK(half(3).error().message == "3 is odd");
  CHECK(half(3).value_or(-1) == -1);
  CHECK(half(8).value_or(-1) == 4);
}

TEST_CASE("the try macros return the first error and pass values on") {
  CHECK(*quarter(8) == 2);
  CHECK(quarter(6).error().message == "3 is odd");
  CHECK(check_even(2));
  CHECK(check_even(1).error().code == ErrorCode::invalid_argument);
}

TEST_CASE("chained calls stop at the first error") {
  CHECK(*half(8).and_then(half).transform([](int value) { return value + 1; }) == 3);
  CHECK(half(6).and_then(half).error().message == "3 is odd");
  CHECK(half(1).transform([](int value) { return std::to_string(value); }).error().message == "1 is odd");
  CHECK(*check_even(2).and_then([] { return half(2); }) == 1);
}

TEST_CASE("values that can only be moved pass through") {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(7);
  const std::unique_ptr<int> value = *std::move(result);
  CHECK(*value == 7);
}

TEST_CASE("a value converts into a result of an optional or a base pointer") {
  const Result<std::optional<int>> some = 3;
  REQUIRE(some);
  CHECK(*some == 3);
  const Result<std::shared_ptr<const int>> pointer = std::make_shared<int>(5);
  REQUIRE(pointer);
  CHECK(**pointer == 5);
}

// Returns what a child writes to stderr before it ends itself, or an empty text if it continues.
template <class Body>
std::string last_words(Body&& body) {
  int ends[2] = {};
  REQUIRE(::pipe(ends) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::signal(SIGABRT, SIG_DFL);  // not the handler of the tests
    ::dup2(ends[1], STDERR_FILENO);
    body();
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string words;
  char buffer[512];
  for (ssize_t count = 0; (count = ::read(ends[0], buffer, sizeof(buffer))) > 0;)
    words.append(buffer, static_cast<std::size_t>(count));
  ::close(ends[0]);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT ? words : std::string();
}

TEST_CASE("reading the value of an error ends the program with the error on one line") {
  const std::string line =
      "cubinet: a value was read of a Result that holds an error: no \\x1bdriver\\x0a (load it)\n";
  const Error error{ErrorCode::unavailable,
                    "no \x1b"
                    "driver\n",
                    "load it"};
  Result<std::string> failed = error;
  const Result<std::string>& same = failed;
  const Result<void> nothing = error;
  CHECK(last_words([&] { static_cast<void>(*failed); }) == line);
  CHECK(last_words([&] { static_cast<void>(*same); }) == line);
  CHECK(last_words([&] { static_cast<void>(*std::move(failed)); }) == line);
  CHECK(last_words([&] { static_cast<void>(failed->size()); }) == line);
  CHECK(last_words([&] { static_cast<void>(same->size()); }) == line);
  CHECK(last_words([&] { static_cast<void>(same.value()); }) == line);
  CHECK(last_words([&] { nothing.value(); }) == line);
}

TEST_CASE("reading the error of a value ends the program and says so") {
  const std::string line = "cubinet: the error was read of a Result that holds none\n";
  Result<int> good = 1;
  Result<void> done;
  CHECK(last_words([&] { static_cast<void>(good.error()); }) == line);
  CHECK(last_words([&] { static_cast<void>(std::move(good).error()); }) == line);
  CHECK(last_words([&] { static_cast<void>(done.error()); }) == line);
  CHECK(last_words([&] { static_cast<void>(std::move(done).error()); }) == line);
}

}  // namespace
}  // namespace cubinet
