// SPDX-License-Identifier: Apache-2.0
#include "function.hpp"

#include "host.hpp"

#include <fmt/format.h>

namespace cubinet::tvm_ffi {
namespace {

std::string_view view_of(cubinet_string text) {
  return {text.data, text.size};
}

// The codes in the order of the C header's statuses, which begin at 1.
constexpr ErrorCode kCodes[] = {ErrorCode::invalid_argument,
                                ErrorCode::not_found,
                                ErrorCode::unsupported,
                                ErrorCode::unavailable,
                                ErrorCode::compile_failed,
                                ErrorCode::corruption,
                                ErrorCode::untrusted,
                                ErrorCode::io,
                                ErrorCode::busy,
                                ErrorCode::driver,
                                ErrorCode::internal};
static_assert(std::size(kCodes) == CUBINET_INTERNAL);

}  // namespace

int raise(const char* function, cubinet_error* error) noexcept {
  cubinet_error_info info = CUBINET_ERROR_INFO_INIT;
  cubinet_error_get(error, &info);
  const auto set_error = host().set_error;
  if (set_error != nullptr) {
    const char* const kind = info.code == CUBINET_INVALID_ARGUMENT ? "ValueError" : "RuntimeError";
    try {
      std::string text = fmt::format("{}: {}: {}", function, view_of(info.name), view_of(info.message));
      if (info.remedy.size != 0) text += fmt::format("; {}", view_of(info.remedy));
      if (info.detail.size != 0) text += fmt::format("\n{}", view_of(info.detail));
      set_error(kind, text.c_str());
    } catch (...) {
      set_error(kind, "out of memory");
    }
  }
  cubinet_error_release(error);
  return -1;
}

Result<void> error_of(cubinet_status status, cubinet_error* error) {
  cubinet_error_info info = CUBINET_ERROR_INFO_INIT;
  cubinet_error_get(error, &info);
  const bool is_known = status >= 1 && static_cast<std::size_t>(status) <= std::size(kCodes);
  Error reason{is_known ? kCodes[status - 1] : ErrorCode::internal, std::string(view_of(info.message)),
               std::string(view_of(info.remedy)), std::string(view_of(info.detail)),
               static_cast<long>(info.native)};
  cubinet_error_release(error);
  return reason;
}

}  // namespace cubinet::tvm_ffi
