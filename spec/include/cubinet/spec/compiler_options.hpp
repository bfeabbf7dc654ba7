// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cubinet {

// What a request says to the compiler beside its source, in one form for each meaning: an option's long name
// without dashes and its value ("std" "c++20"; "use_fast_math" ""), "D:NAME" and the value of a macro,
// "U:NAME" for one that is undefined. Part of a kernel's identity.
using CompilerOptions = std::map<std::string, std::string, std::less<>>;

// From NVRTC's flags as people write them: "-std=c++20", "--std", "c++20", "-DN=4", "-D", "N", "-lineinfo".
// Those that are not known here are taken as they are, for NVRTC to judge. invalid_argument for what is no
// flag, for one that is given two values, and, by name and with the reason, for those that read or write
// files, ask for another product than a cubin or PTX, or say what the request says elsewhere (the target,
// folders of headers).
Result<CompilerOptions> parse_compiler_flags(std::span<const std::string> flags);

// The flags of these options, ascending by name: what the compiler is given.
std::vector<std::string> compiler_flags(const CompilerOptions& options);

// The macros that they define, "NAME" or "NAME(x)", and what each stands for.
std::vector<std::pair<std::string, std::string>> defined_macros(const CompilerOptions& options);

// Whether they define or undefine this macro.
bool says_macro(const CompilerOptions& options, std::string_view macro);

// `defaults`, where `given` does not say otherwise: of the same option, or of the same macro.
CompilerOptions with_defaults(CompilerOptions given, const CompilerOptions& defaults);

}  // namespace cubinet
