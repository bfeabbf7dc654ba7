// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/roff.hpp>

namespace cubinet {

std::string roff_escaped(std::string_view text) {
  constexpr std::string_view kEllipsis = "\u2026";
  std::string escaped;
  bool begins_line = true;
  for (; !text.empty(); text.remove_prefix(1)) {
    if (text.starts_with(kEllipsis)) {
      escaped += "...";
      text.remove_prefix(kEllipsis.size() - 1);
      continue;
    }
    const char c = text.front();
    if (begins_line && (c == '.' || c == '\'')) escaped += "\\&";
    if (c == '\\') {
      escaped += "\\e";
    } else if (c == '-') {
      escaped += "\\-";
    } else if (c == '\'') {
      escaped += "\\(aq";
    } else if (c == '`') {
      escaped += "\\(ga";
    } else if (c == '^') {
      escaped += "\\(ha";
    } else if (c == '~') {
      escaped += "\\(ti";
    } else {
      escaped += c;
    }
    begins_line = c == '\n';
  }
  return escaped;
}

std::string roff_bold(std::string_view text) {
  return "\\fB" + roff_escaped(text) + "\\fR";
}

std::string roff_italic(std::string_view text) {
  return "\\fI" + roff_escaped(text) + "\\fR";
}

}  // namespace cubinet
