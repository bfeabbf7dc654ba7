// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace cubinet {

// Takes those words out that stand in the text, wherever: in code, comments and literals.
void remove_words_of(std::string_view text, std::set<std::string, std::less<>>& words);

}  // namespace cubinet
