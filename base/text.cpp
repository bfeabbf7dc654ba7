// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/text.hpp>
#include <cubinet/base/utf8.hpp>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <utility>

namespace cubinet {
namespace {

// The limits of a requested name. No known name is longer, and computing a distance takes time
// proportional to the product of both lengths.
constexpr std::size_t kMaximumAsked = 64;
constexpr std::size_t kMaximumNearest = 3;

// Counts added, missing and other characters, and exchanged neighbours.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);  // the row of the last but one character of a
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    before.swap(last);
    last.swap(row);
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t substituted = last[j] + (a[i] == b[j] ? 0 : 1);
      row[j + 1] = std::min({substituted, row[j] + 1, last[j + 1] + 1});
      if (i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j])
        row[j + 1] = std::min(row[j + 1], before[j - 1] + 1);
    }
  }
  return row.back();
}

using Ranked = std::vector<std::pair<std::size_t, std::string>>;

std::vector<std::string> in_order(Ranked ranked, std::size_t limit) {
  std::sort(ranked.begin(), ranked.end());
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(ranked.size(), limit); ++i)
    names.push_back(std::move(ranked[i].second));
  return names;
}

constexpr std::string_view kHexDigits = "0123456789abcdef";

void append_escaped(std::string& shown, unsigned char byte) {
  shown += "\\x";
  shown += kHexDigits[byte >> 4U];
  shown += kHexDigits[byte & 15U];
}

std::string escaped(std::string_view text, std::string_view kept) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const Utf8Character character = first_character(text);
    const std::size_t bytes = std::max<std::size_t>(character.bytes, 1);
    const bool keeps = character.bytes == 1 && kept.find(text.front()) != std::string_view::npos;
    if (keeps || (character.bytes > 0 && !is_hidden(character.value))) {
      shown += text.substr(0, bytes);
    } else {
      for (const char byte : text.substr(0, bytes))
        append_escaped(shown, static_cast<unsigned char>(byte));
    }
    text.remove_prefix(bytes);
  }
  return shown;
}

void append_unicode_escape(std::string& shown, std::uint32_t unit) {
  shown += "\\u";
  for (const unsigned shift : {12U, 8U, 4U, 0U})
    shown += kHexDigits[(unit >> shift) & 15U];
}

}  // namespace

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += separator;
    text += parts[i];
  }
  return text;
}

std::string plural(std::uint64_t count, std::string_view noun) {
  std::string text = std::to_string(count) + " ";
  if (count == 1) return text.append(noun);
  const char before = noun.size() > 1 ? noun[noun.size() - 2] : 'a';
  const bool after_vowel = std::string_view("aeiou").find(before) != std::string_view::npos;
  if (noun.ends_with('y') && !after_vowel) return text.append(noun.substr(0, noun.size() - 1)).append("ies");
  return text.append(noun).append("s");
}

std::vector<std::string> nearest_first(const std::vector<std::string>& names, std::string_view wanted) {
  Ranked ranked;
  for (const std::string& name : names)
    ranked.emplace_back(edit_distance(wanted.substr(0, kMaximumAsked), name), name);
  return in_order(std::move(ranked), names.size());
}

std::vector<std::string> nearest_names(std::string_view wanted, const std::vector<std::string>& names) {
  const std::string_view asked = wanted.substr(0, kMaximumAsked);
  Ranked ranked;
  for (const std::string& name : names) {
    std::size_t distance = edit_distance(asked, name);
    // "head_dim" matches "head_dim_qk", however many letters are missing.
    if (asked.size() >= 3 && name.find(asked) != std::string::npos)
      distance = std::min<std::size_t>(distance, 1);
    if (distance <= std::max<std::size_t>(1, std::max(asked.size(), name.size()) / 3))
      ranked.emplace_back(distance, name);
  }
  return in_order(std::move(ranked), kMaximumNearest);
}

std::string printable(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return escaped(text, {});
  // Moves the cut to the beginning of a character.
  std::size_t end = limit;
  while (end > 0 && limit - end < 3 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80)
    --end;
  return escaped(text.substr(0, end), {}) + "...";
}

std::string printable_lines(std::string_view text) {
  return escaped(text, "\n\t");
}

std::string printable_json(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const Utf8Character character = first_character(text);
    const std::size_t bytes = std::max<std::size_t>(character.bytes, 1);
    if (character.bytes == 0) {
      shown += "\\ufffd";
    } else if (character.value < 0x20 || !is_hidden(character.value)) {
      shown += text.substr(0, bytes);
    } else if (character.value < 0x10000) {
      append_unicode_escape(shown, character.value);
    } else {
      append_unicode_escape(shown, 0xd800 + ((character.value - 0x10000) >> 10U));
      append_unicode_escape(shown, 0xdc00 + ((character.value - 0x10000) & 0x3ffU));
    }
    text.remove_prefix(bytes);
  }
  return shown;
}

bool is_printable(std::string_view text) {
  return printable(text) == text;
}

}  // namespace cubinet
