// SPDX-License-Identifier: Apache-2.0
#include "application.hpp"

#include <cubinet/c_api/call.hpp>
#include <cubinet/cubinet.h>

#include <vector>

using namespace cubinet;
using namespace cubinet::c_api;

cubinet_status cubinet_command(const cubinet_string* words, size_t count, const char* const* variables,
                               int32_t* exit_status, cubinet_text** output, cubinet_error** error) {
  return run_call(error, [&]() -> Result<void> {
    CUBINET_TRY(check_pointer(variables, "variables"));
    CUBINET_TRY(check_pointer(exit_status, "exit_status"));
    CUBINET_TRY_ASSIGN(std::vector<std::string> texts, words_of(words, count));
    texts.insert(texts.begin(), "cubinet");
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
