// SPDX-License-Identifier: Apache-2.0
#include "application.hpp"

#include <cubinet/c_api/call.hpp>
#include <cubinet/cubinet.h>

#include <vector>

using namespace cubinet;
using namespace cubinet::c_api;

namespace {

// Linux itself passes no more arguments. The limit detects a wrong count before the list is read.
constexpr std::size_t kMaximumWords = 1 << 20;

Result<void> check_words(const cubinet_string* words, std::size_t count) {
  if (count > kMaximumWords) {
    return Error{ErrorCode::invalid_argument, "`count` is " + std::to_string(count),
                 "pass the number of words"};
  }
  return count == 0 ? Result<void>() : check_pointer(words, "words");
}

}  // namespace

cubinet_status cubinet_command(const cubinet_string* words, size_t count, const char* const* variables,
                               int32_t* exit_status, cubinet_text** output, cubinet_error** error) {
  return run_call(error, [&]() -> Result<void> {
    CUBINET_TRY(check_pointer(variables, "variables"));
    CUBINET_TRY(check_pointer(exit_status, "exit_status"));
    CUBINET_TRY(check_words(words, count));
    std::vector<std::string> texts = {"cubinet"};
    for (std::size_t i = 0; i < count; ++i) {
      CUBINET_TRY_ASSIGN(texts.emplace_back(), text_of(words[i], "words"));
    }
    std::vector<const char*> arguments;
    for (const std::string& text : texts)
      arguments.push_back(text.c_str());
    arguments.push_back(nullptr);
    std::string written;
    *exit_status = cli::run(static_cast<int>(texts.size()), arguments.data(), EnvironmentVariables(variables),
                            output == nullptr ? nullptr : &written);
    if (output != nullptr) *output = make_text(std::move(written));
    return {};
  });
}
