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

// The compiler options of a request, with one form for each meaning. The entries are an option's
// long name without dashes and its value ("std" "c++20"; "use_fast_math" ""), "D:NAME" and a
// macro's value, and "U:NAME" for an undefined macro. Part of a kernel's identity.
using CompilerOptions = std::map<std::string, std::string, std::less<>>;

// Parses NVRTC's flags as users write them: "-std=c++20", "--std", "c++20", "-DN=4", "-D", "N",
// "-lineinfo". Unknown flags are kept unchanged for NVRTC to check. Returns invalid_argument for
// text that is not a flag and for a flag with two values. It also rejects, by name and with the
// reason, flags that read or write files, that request an output other than a cubin or PTX, or that
// duplicate a part of the request (the target, folders of headers).
Result<CompilerOptions> parse_compiler_flags(std::span<const std::string> flags);

// Returns the flags that the compiler receives for these options, ascending by name.
std::vector<std::string> compiler_flags(const CompilerOptions& options);

// Returns the macros that the options define, "NAME" or "NAME(x)", and their values.
std::vector<std::pair<std::string, std::string>> defined_macros(const CompilerOptions& options);

// Returns whether the options define or undefine this macro.
bool says_macro(const CompilerOptions& options, std::string_view macro);

// Returns `given`, completed by those `defaults` whose option or macro it does not mention.
CompilerOptions with_defaults(CompilerOptions given, const CompilerOptions& defaults);

}  // namespace cubinet
