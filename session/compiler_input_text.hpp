// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/jit/compiler.hpp>

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

// Each describes the input of a compiler for one target, as JSON or as lines for people. Lines may
// hold text from outside.
nlohmann::json describe(const CompilerInput& input, std::string_view compiler, std::string_view target);
std::vector<std::string> to_lines(const CompilerInput& input, std::string_view compiler,
                                  std::string_view target);

}  // namespace cubinet
