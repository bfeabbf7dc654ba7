// SPDX-License-Identifier: Apache-2.0
#include <cubinet/c_api/call.hpp>
#include <cubinet/cubinet.h>
#include <cubinet/nvcc/driver.hpp>

using namespace cubinet;
using namespace cubinet::c_api;

cubinet_status cubinet_nvcc(const cubinet_string* words, size_t count, const char* const* variables,
                            cubinet_string own, int32_t* exit_status, cubinet_error** error) {
  return run_call(error, [&]() -> Result<void> {
    CUBINET_TRY(check_pointer(variables, "variables"));
    CUBINET_TRY(check_pointer(exit_status, "exit_status"));
    CUBINET_TRY_ASSIGN(const auto arguments, words_of(words, count));
    CUBINET_TRY_ASSIGN(const std::string path, text_of(own, "own"));
    *exit_status = nvcc::run(arguments, EnvironmentVariables(variables), path);
    return {};
  });
}
