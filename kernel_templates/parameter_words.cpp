// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/text.hpp>
#include <cubinet/kernel_templates/parameter_words.hpp>

namespace cubinet {

void remove_words_of(std::string_view text, std::set<std::string, std::less<>>& words) {
  std::size_t at = 0;
  while (at < text.size() && !words.empty()) {
    std::size_t end = at;
    while (end < text.size() && is_word_character(text[end]))
      ++end;
    if (end > at) {
      const auto found = words.find(text.substr(at, end - at));
      if (found != words.end()) words.erase(found);
    }
    at = end + 1;
  }
}

}  // namespace cubinet
