// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/embedded_file.hpp>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

// Markup of HTML. Only html.cpp concatenates markup, and the types leave no other path: a text that
// becomes Html is escaped, and the names of elements and attributes are literals of a fixed list,
// without scripts, styles, handlers, forms and addresses.

inline constexpr std::string_view kHtmlElements[] = {
    "b",    "bdi",    "caption", "code",  "dd",  "div", "dl",    "dt",   "h1",      "h2",
    "h3",   "header", "li",      "main",  "nav", "ol",  "p",     "rect", "section", "small",
    "span", "svg",    "table",   "tbody", "td",  "th",  "thead", "tr"};
inline constexpr std::string_view kHtmlAttributes[] = {
    "aria-hidden", "aria-label", "aria-labelledby", "class",    "data-sort", "height", "id",
    "role",        "rx",         "scope",           "tabindex", "width",     "x"};

// A name of one of these lists. Anything else does not compile.
template <const auto& allowed>
class HtmlName {
 public:
  consteval HtmlName(const char* name) : name_(name) {  // implicit: a literal is a name
    if (std::find(std::begin(allowed), std::end(allowed), name_) == std::end(allowed))
      throw "a name that the list does not have";
  }
  std::string_view text() const { return name_; }

 private:
  std::string_view name_;
};
using HtmlElement = HtmlName<kHtmlElements>;

// An attribute. Its value is escaped when it is written.
struct HtmlAttribute {
  HtmlName<kHtmlAttributes> name;
  std::string value;
};
using HtmlAttributes = std::vector<HtmlAttribute>;

// Well-formed content of an element. A value.
class Html {
 public:
  Html() = default;
  // Escapes the text. Each byte that is not UTF-8, and each character that is hidden
  // (base/utf8.hpp) or that HTML does not allow, becomes U+FFFD.
  Html(std::string_view text);  // NOLINT: implicit, so that text is escaped wherever Html is wanted
  Html(const std::string& text) : Html(std::string_view(text)) {}  // NOLINT
  Html(const char* text) : Html(std::string_view(text)) {}         // NOLINT

  Html& operator+=(const Html& other);
  friend Html operator+(Html first, const Html& second) { return std::move(first += second); }

  bool empty() const { return markup_.empty(); }
  const std::string& markup() const { return markup_; }

 private:
  friend Html element(HtmlElement name, const HtmlAttributes& attributes, const Html& content);
  friend Html link_to(const std::string& id, const Html& content);
  std::string markup_;
};

// Returns an element with its content.
Html element(HtmlElement name, const HtmlAttributes& attributes, const Html& content);
Html element(HtmlElement name, const Html& content);
// Returns a link to the element of this id of the same page.
Html link_to(const std::string& id, const Html& content);

// Returns the text escaped as content and as a value of an attribute in double quotes.
std::string escaped_html(std::string_view text);

// Returns a whole document that loads nothing and runs only `script`: its Content-Security-Policy
// names the digests of `style` and `script`.
std::string html_document(std::string_view title, const EmbeddedFile& style, const EmbeddedFile& script,
                          const Html& body);

}  // namespace cubinet
