// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/base64.hpp>
#include <cubinet/base/sha256.hpp>
#include <cubinet/base/utf8.hpp>
#include <cubinet/report/html.hpp>

namespace cubinet {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD

std::string_view entity_of(char character) {
  switch (character) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    default:
      return {};
  }
}

// Returns true for code points that Unicode reserves and a parser of HTML reports as errors.
bool is_noncharacter(std::uint32_t value) {
  return (value & 0xfffeU) == 0xfffe || (value >= 0xfdd0 && value <= 0xfdef);
}

// Returns the source of a Content-Security-Policy for an element with this content.
std::string policy_source(std::string_view content) {
  const Sha256Digest digest = sha256(as_bytes(content));
  return "'sha256-" + to_base64(digest.bytes) + "'";
}

}  // namespace

std::string escaped_html(std::string_view text) {
  std::string escaped;
  escaped.reserve(text.size());
  while (!text.empty()) {
    const Utf8Character character = first_character(text);
    if (character.bytes == 0) {
      escaped += kReplacement;
      text.remove_prefix(1);
      continue;
    }
    const std::string_view entity = entity_of(character.bytes == 1 ? text.front() : 'a');
    if (!entity.empty()) {
      escaped += entity;
    } else if (is_hidden(character.value) || is_noncharacter(character.value)) {
      escaped += kReplacement;
    } else {
      escaped += text.substr(0, character.bytes);
    }
    text.remove_prefix(character.bytes);
  }
  return escaped;
}

Html::Html(std::string_view text) : markup_(escaped_html(text)) {}

Html& Html::operator+=(const Html& other) {
  markup_ += other.markup_;
  return *this;
}

Html element(HtmlElement name, const HtmlAttributes& attributes, const Html& content) {
  Html result;
  std::string& markup = result.markup_;
  markup.append("<").append(name.text());
  for (const HtmlAttribute& attribute : attributes)
    markup.append(" ")
        .append(attribute.name.text())
        .append("=\"")
        .append(escaped_html(attribute.value))
        .append("\"");
  markup.append(">").append(content.markup_).append("</").append(name.text()).append(">");
  return result;
}

Html element(HtmlElement name, const Html& content) {
  return element(name, {}, content);
}

Html link_to(const std::string& id, const Html& content) {
  Html result;
  result.markup_.append("<a href=\"#")
      .append(escaped_html(id))
      .append("\">")
      .append(content.markup_)
      .append("</a>");
  return result;
}

std::string html_document(std::string_view title, const EmbeddedFile& style, const EmbeddedFile& script,
                          const Html& body) {
  const std::string policy = "default-src 'none'; style-src " + policy_source(style.text()) +
                             "; script-src " + policy_source(script.text()) +
                             "; base-uri 'none'; form-action 'none'";
  std::string page = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
  page.append("<meta http-equiv=\"Content-Security-Policy\" content=\"").append(policy).append("\">\n");
  page += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
  page += "<meta name=\"color-scheme\" content=\"light dark\">\n";
  page += "<meta name=\"referrer\" content=\"no-referrer\">\n";
  page.append("<title>").append(escaped_html(title)).append("</title>\n");
  page.append("<style>").append(style.text()).append("</style>\n</head>\n<body>\n");
  page.append(body.markup());
  page.append("\n<script>").append(script.text()).append("</script>\n</body>\n</html>\n");
  return page;
}

}  // namespace cubinet
