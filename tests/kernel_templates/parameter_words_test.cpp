// SPDX-License-Identifier: Apache-2.0
#include <cubinet/kernel_templates/parameter_words.hpp>

#include <doctest/doctest.h>

using namespace cubinet;

namespace {

using Words = std::set<std::string, std::less<>>;

Words left_by(std::string_view text, Words words = {"n", "N", "tile"}) {
  remove_words_of(text, words);
  return words;
}

}  // namespace

TEST_CASE("a word is found whole, and nowhere in another") {
  CHECK(left_by("") == Words{"n", "N", "tile"});
  CHECK(left_by("n") == Words{"N", "tile"});
  CHECK(left_by("nn, N2, _tile tile_") == Words{"n", "N", "tile"});
  CHECK(left_by("x[n]+N;\n#if tile") == Words{});
  CHECK(left_by("f(tile)") == Words{"n", "N"});
  CHECK(left_by("n", {}) == Words{});
}
