// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/text.hpp>

#include <algorithm>
#include <numeric>
#include <utility>

namespace cubinet {
namespace {

// Of a name that was asked for: no name that we know is longer, and a distance takes the product of two
// lengths.
constexpr std::size_t kMaximumAsked = 64;
constexpr std::size_t kMaximumNearest = 3;

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substituted, row[j] + 1, diagonal + 1});
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

void append_escaped(std::string& shown, unsigned char byte) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  shown += "\\x";
  shown += kDigits[byte >> 4U];
  shown += kDigits[byte & 15U];
}

// U+0080 to U+009F, which terminals obey like escape sequences: as UTF-8, or as bare bytes.
bool in_c1(unsigned char byte) {
  return byte >= 0x80 && byte < 0xa0;
}

std::string escaped(std::string_view text, std::string_view kept) {
  std::string shown;
  shown.reserve(text.size());
  int continuing = 0;  // bytes of a character of UTF-8 that are still to come
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool c0 = (byte < 0x20 && kept.find(text[i]) == std::string_view::npos) || byte == 0x7f;
    const bool c1 = (continuing == 0 && in_c1(byte)) ||
                    (byte == 0xc2 && i + 1 < text.size() && in_c1(static_cast<unsigned char>(text[i + 1])));
    if (byte >= 0xc0) {
      continuing = c1 ? 0 : byte >= 0xf0 ? 3 : byte >= 0xe0 ? 2 : 1;
    } else {
      continuing = byte >= 0x80 && continuing > 0 ? continuing - 1 : 0;
    }
    if (c0 || c1) {
      append_escaped(shown, byte);
    } else {
      shown += text[i];
    }
  }
  return shown;
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
    // "head_dim" means "head_dim_qk", however many letters it leaves out.
    if (asked.size() >= 3 && name.find(asked) != std::string::npos)
      distance = std::min<std::size_t>(distance, 1);
    if (distance <= std::max<std::size_t>(1, std::max(asked.size(), name.size()) / 3))
      ranked.emplace_back(distance, name);
  }
  return in_order(std::move(ranked), kMaximumNearest);
}

std::string printable(std::string_view text, std::size_t limit) {
  std::string shown = escaped(text.substr(0, limit), {});
  if (text.size() > limit) shown += "...";
  return shown;
}

std::string printable_lines(std::string_view text) {
  return escaped(text, "\n\t");
}

bool is_printable(std::string_view text) {
  return printable(text) == text;
}

}  // namespace cubinet
