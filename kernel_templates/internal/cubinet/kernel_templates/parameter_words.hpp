// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace cubinet {

// Removes from `words` those that occur in the text: in code, comments or literals.
void remove_words_of(std::string_view text, std::set<std::string, std::less<>>& words);

}  // namespace cubinet
