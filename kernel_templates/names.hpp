// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cubinet {

// Returns whether the text is [a-z][a-z0-9_]*, at most 64 characters, and no C++ keyword: an
// identifier of the generated header.
bool is_identifier(std::string_view text);

// Returns the same, but also accepts a leading digit: "2x1".
bool is_choice_name(std::string_view text);
// Returns the enumerator for a choice.
std::string enumerator_of(std::string_view choice_name);

// Returns whether the text is [A-Za-z_][A-Za-z0-9_]*, at most 64 characters, and no keyword or
// reserved name (_X, __x) of C++ or the preprocessor.
bool is_macro_name(std::string_view text);

// Returns whether the text is identifiers separated by "::": "fmaf", "my::op".
bool is_qualified_name(std::string_view text);

// Returns a C++ type in its canonical spelling, without unneeded spaces. Returns nullopt for
// anything but names, numbers and <>()[]:,*&-, for an unmatched bracket and for more than 1024
// characters.
std::optional<std::string> canonical_type(std::string_view text);

}  // namespace cubinet
