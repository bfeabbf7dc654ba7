// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cubinet {

// [a-z][a-z0-9_]*, at most 64 characters, and no word of C++: it becomes an identifier of the generated
// header.
bool is_identifier(std::string_view text);

// The same, or with a digit at its beginning: "2x1".
bool is_choice_name(std::string_view text);
// The enumerator of such a name.
std::string enumerator_of(std::string_view choice_name);

// [A-Za-z_][A-Za-z0-9_]*, at most 64 characters, no word of C++ or the preprocessor, and none that they keep
// for themselves (_X, __x).
bool is_macro_name(std::string_view text);

// Identifiers of any case with "::" between them: "fmaf", "my::op".
bool is_qualified_name(std::string_view text);

// A C++ type in one spelling: without the spaces that it does not need. nullopt for what cannot be one:
// anything but names, numbers and <>()[]:,*&-, a bracket without its partner, more than 1024 characters.
std::optional<std::string> canonical_type(std::string_view text);

}  // namespace cubinet
