// SPDX-License-Identifier: Apache-2.0
// Reads the results of a benchmark and makes their page. Checks that the page has no markup but
// that of its own elements, and no text that is not UTF-8 or hidden.
#include "fuzz.hpp"

#include <cubinet/base/utf8.hpp>
#include <cubinet/report/benchmark_section.hpp>

#include <algorithm>
#include <cstdlib>

namespace cubinet::fuzz {
namespace {

bool is_element(std::string_view name) {
  return std::ranges::find(kHtmlElements, name) != std::end(kHtmlElements);
}

void check_markup(std::string_view markup) {
  while (!markup.empty()) {
    const Utf8Character character = first_character(markup);
    if (character.bytes == 0 || is_hidden(character.value)) std::abort();
    if (character.value == '<') {
      std::string_view name = markup.substr(markup.starts_with("</") ? 2 : 1);
      name = name.substr(0, name.find_first_of(" >"));
      if (!is_element(name)) std::abort();
    }
    markup.remove_prefix(character.bytes);
  }
}

}  // namespace

void read(ByteView bytes) {
  const std::string_view text = as_text(bytes);
  check_markup(Html(text).markup());
  const auto document = parse_json(text);
  if (!document) return;
  const auto results = BenchmarkResults::read(*document, "results");
  if (results) check_markup(benchmark_section("results", *results).content.markup());
}

}  // namespace cubinet::fuzz
