// SPDX-License-Identifier: Apache-2.0
#include "c_fixture.hpp"

#include <cubinet/c_api/call.hpp>

#include <new>
#include <stdexcept>

using namespace cubinet;
using namespace cubinet::c_api;
using namespace cubinet::test;

TEST_CASE("each code of an error is the status of its number, and carries its name") {
  const std::pair<ErrorCode, cubinet_status> codes[] = {
      {ErrorCode::invalid_argument, CUBINET_INVALID_ARGUMENT},
      {ErrorCode::not_found, CUBINET_NOT_FOUND},
      {ErrorCode::unsupported, CUBINET_UNSUPPORTED},
      {ErrorCode::unavailable, CUBINET_UNAVAILABLE},
      {ErrorCode::compile_failed, CUBINET_COMPILE_FAILED},
      {ErrorCode::corruption, CUBINET_CORRUPTION},
      {ErrorCode::untrusted, CUBINET_UNTRUSTED},
      {ErrorCode::io, CUBINET_IO},
      {ErrorCode::busy, CUBINET_BUSY},
      {ErrorCode::driver, CUBINET_DRIVER},
      {ErrorCode::internal, CUBINET_INTERNAL},
  };
  for (const auto& [code, status] : codes) {
    Failure failure;
    const ErrorCode reason = code;
    const auto given = run_call(failure.out(), [&]() -> Result<void> {
      return Error{reason, "what failed", "what to do", "a long log", 42};
    });
    CHECK(given == status);
    CHECK(failure.info().code == status);
    CHECK(text(failure.info().name) == to_string(code));
    CHECK(failure.message() == "what failed");
    CHECK(failure.remedy() == "what to do");
    CHECK(text(failure.info().detail) == "a long log");
    CHECK(failure.info().native == 42);
  }
}

TEST_CASE("a call that succeeds leaves no error, and a caller may pass none") {
  Failure failure;
  CHECK(run_call(failure.out(), [] { return Result<void>(); }) == CUBINET_OK);
  CHECK(failure.none());
  CHECK(run_call(nullptr, [] { return Result<void>(Error{ErrorCode::busy, "locked"}); }) == CUBINET_BUSY);
}

TEST_CASE("every exception becomes a status") {
  Failure failure;
  const auto throws = [](const auto& exception) {
    return [&exception]() -> Result<void> { throw exception; };
  };
  CHECK(run_call(failure.out(), throws(std::bad_alloc())) == CUBINET_UNAVAILABLE);
  CHECK(failure.message() == "out of memory");
  CHECK(run_call(failure.out(), throws(std::runtime_error("a reason"))) == CUBINET_INTERNAL);
  CHECK(failure.message().find("a reason") != std::string::npos);
  CHECK(run_call(failure.out(), throws(7)) == CUBINET_INTERNAL);
  CHECK(run_call(nullptr, throws(std::bad_alloc())) == CUBINET_UNAVAILABLE);
}

TEST_CASE("reading the missing side of a result is an error here and not the end of the program") {
  Failure failure;
  const Result<int> failed = Error{ErrorCode::io, "the disk is gone"};
  const auto misuse = [&]() -> Result<void> { return *failed == 0 ? Result<void>() : Result<void>(); };
  CHECK(run_call(failure.out(), misuse) == CUBINET_INTERNAL);
  CHECK(failure.message().find("the disk is gone") != std::string::npos);
}

TEST_CASE("the accessors of errors and texts take null") {
  cubinet_error_info info = CUBINET_ERROR_INFO_INIT;
  CHECK(cubinet_error_get(nullptr, &info) == CUBINET_INVALID_ARGUMENT);
  cubinet_error_release(nullptr);
  CHECK(cubinet_text_get(nullptr).size == 0);
  cubinet_text_release(nullptr);
  const CText kept(make_text("bytes"));
  CHECK(text(cubinet_text_get(kept.get())) == "bytes");
  CHECK(cubinet_text_get(kept.get()).data[5] == '\0');
}

TEST_CASE("a text argument needs bytes for its length, has a limit, and no zero") {
  CHECK(*text_of({nullptr, 0}, "name") == "");
  CHECK(text_of({nullptr, 3}, "name").error().message == "the argument `name` is NULL");
  CHECK(text_of({"x", std::size_t{1} << 40}, "name").error().code == ErrorCode::invalid_argument);
  CHECK(text_of({"a\0b", 3}, "name").error().message == "the argument `name` has a zero character at 1");
  CHECK(*text_of({"a\0b", 1}, "name") == "a");
}
