// SPDX-License-Identifier: Apache-2.0
#include "c_terms.hpp"
#include "structures.hpp"

#include <cubinet/c_api/call.hpp>

#include <exception>
#include <new>

// An error of the library. Immutable.
struct cubinet_error {
  cubinet::Error reason;
  cubinet_status status = CUBINET_INTERNAL;
  bool is_static = false;
};

// std::string keeps a zero behind its bytes.
struct cubinet_text {
  std::string bytes;
};

namespace cubinet::c_api {
namespace {

// Linux itself passes no more arguments. The limit detects a wrong count before the list is read.
constexpr std::size_t kMaximumWords = 1 << 20;

// The numbers of the C header, in the order of ErrorCode.
cubinet_status status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument:
      return CUBINET_INVALID_ARGUMENT;
    case ErrorCode::not_found:
      return CUBINET_NOT_FOUND;
    case ErrorCode::unsupported:
      return CUBINET_UNSUPPORTED;
    case ErrorCode::unavailable:
      return CUBINET_UNAVAILABLE;
    case ErrorCode::compile_failed:
      return CUBINET_COMPILE_FAILED;
    case ErrorCode::corruption:
      return CUBINET_CORRUPTION;
    case ErrorCode::untrusted:
      return CUBINET_UNTRUSTED;
    case ErrorCode::io:
      return CUBINET_IO;
    case ErrorCode::busy:
      return CUBINET_BUSY;
    case ErrorCode::driver:
      return CUBINET_DRIVER;
    case ErrorCode::internal:
      break;
  }
  return CUBINET_INTERNAL;
}

// The error that is returned when there is no memory for another one. Made when the library is
// loaded; its texts are short enough to need no allocation of their own.
cubinet_error out_of_memory{{ErrorCode::unavailable, "out of memory", "", "", 0}, CUBINET_UNAVAILABLE, true};

}  // namespace

cubinet_status fail(cubinet_error** error, Error reason) noexcept {
  const cubinet_status status = status_of(reason.code);
  if (error == nullptr) return status;
  try {
    reason.message = in_c_terms(std::move(reason.message));
    reason.remedy = in_c_terms(std::move(reason.remedy));
    *error = new cubinet_error{std::move(reason), status, false};
    return status;
  } catch (const std::bad_alloc&) {
    *error = &out_of_memory;
    return CUBINET_UNAVAILABLE;
  }
}

namespace {

// Making the message of a defect needs memory too.
cubinet_status fail_by_defect(cubinet_error** error, const char* what) noexcept {
  try {
    return fail(error, {ErrorCode::internal, std::string("an exception reached the C interface: ") + what,
                        "report this defect of cubinet"});
  } catch (const std::bad_alloc&) {
    if (error != nullptr) *error = &out_of_memory;
    return CUBINET_UNAVAILABLE;
  }
}

}  // namespace

cubinet_status fail_by_exception(cubinet_error** error) noexcept {
  try {
    throw;
  } catch (ResultMisuse& misuse) {
    return fail(error, std::move(misuse.error));
  } catch (const std::bad_alloc&) {
    if (error != nullptr) *error = &out_of_memory;
    return CUBINET_UNAVAILABLE;
  } catch (const std::exception& exception) {
    return fail_by_defect(error, exception.what());
  } catch (...) {
    return fail_by_defect(error, "its type is unknown");
  }
}

Result<void> check_pointer(const void* pointer, std::string_view name) {
  if (pointer != nullptr) return {};
  return Error{ErrorCode::invalid_argument, "the argument `" + std::string(name) + "` is NULL"};
}

Result<std::string> text_of(cubinet_string text, std::string_view name) {
  if (text.size == 0) return std::string();
  CUBINET_TRY(check_pointer(text.data, name));
  if (text.size > kMaximumTextBytes) {
    return Error{ErrorCode::invalid_argument,
                 "the argument `" + std::string(name) + "` has " + std::to_string(text.size) + " bytes",
                 "pass at most " + std::to_string(kMaximumTextBytes)};
  }
  std::string copy(text.data, text.size);
  // Functions of the system and of compilers end a text at its first zero.
  if (const std::size_t zero = copy.find('\0'); zero != std::string::npos) {
    return Error{ErrorCode::invalid_argument,
                 "the argument `" + std::string(name) + "` has a zero character at " + std::to_string(zero),
                 "pass a text without one"};
  }
  return copy;
}

Result<std::vector<std::string>> words_of(const cubinet_string* words, std::size_t count) {
  CUBINET_TRY(check_list(words, count, "words", kMaximumWords));
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < count; ++i) {
    CUBINET_TRY_ASSIGN(texts.emplace_back(), text_of(words[i], "words"));
  }
  return texts;
}

cubinet_text* make_text(std::string bytes) {
  return new cubinet_text{std::move(bytes)};
}

}  // namespace cubinet::c_api

using namespace cubinet;
using namespace cubinet::c_api;

cubinet_status cubinet_error_get(const cubinet_error* error, cubinet_error_info* info) {
  if (error == nullptr) return CUBINET_INVALID_ARGUMENT;
  cubinet_error_info facts = CUBINET_ERROR_INFO_INIT;
  facts.code = error->status;
  facts.name = to_c(to_string(error->reason.code));
  facts.message = to_c(error->reason.message);
  facts.remedy = to_c(error->reason.remedy);
  facts.detail = to_c(error->reason.detail);
  facts.native = error->reason.native;
  return run_call(nullptr, [&] { return write_structure(facts, info, "info"); });
}

void cubinet_error_release(cubinet_error* error) {
  if (error != nullptr && !error->is_static) delete error;
}

cubinet_string cubinet_text_get(const cubinet_text* text) {
  return text == nullptr ? cubinet_string{nullptr, 0} : to_c(text->bytes);
}

void cubinet_text_release(cubinet_text* text) {
  delete text;
}
