// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace cubinet {

struct HelperAnswer {
  int exit_status = 0;  // -1: ended by a signal
  std::string output;   // standard output, at most 64 KiB
};

// Runs `program get` with `input` on its standard input. The program inherits only the standard
// error. Returns unavailable if it cannot be started or has not ended within the limit, in which
// case it is killed.
Result<HelperAnswer> run_credential_helper(const std::filesystem::path& program,
                                           const std::vector<std::string>& environment,
                                           std::string_view input, std::chrono::milliseconds limit);

}  // namespace cubinet
