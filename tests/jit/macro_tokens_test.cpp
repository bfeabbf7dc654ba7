// SPDX-License-Identifier: Apache-2.0
#include "macro_tokens.hpp"

#include <doctest/doctest.h>

using namespace cubinet;

namespace {

// Each in brackets, with the blanks before it.
std::string parted(std::string_view line) {
  const auto tokens = macro_tokens(line);
  REQUIRE_MESSAGE(tokens, line);
  std::string text;
  for (const MacroToken& token : *tokens)
    text += (token.spaced ? " [" : "[") + token.text + "]";
  return text;
}

}  // namespace

TEST_CASE("a line is parted into words, numbers, literals and punctuators") {
  CHECK(parted("a1_ .5e+3x.y\t\"b \\\" c\"'d'") == "[a1_] [.5e+3x.y] [\"b \\\" c\"]['d']");
  CHECK(parted("a##b%:%:c->d<=e...f.g") == "[a][##][b][%:%:][c][->][d][<=][e][...][f][.][g]");
  CHECK(parted("< a/b.h >") == "[<] [a][/][b][.][h] [>]");
  CHECK(parted("A$\xc3\xa9@") == "[A][$][\xc3][\xa9][@]");
  CHECK(parted("  ").empty());
}

TEST_CASE("what is not read in one way by every language standard is not read") {
  for (const char* line : {"1'000", "0x1p-3", "L\"a\"", "u8R\"(a)\"", "'a'_x", "\"a\"s", "\"a", "'",
                           "\\u00c1", "a\\", "<::a>", "a//b", "a/*b", "a\nb", "\"\\"})
    CHECK_FALSE_MESSAGE(macro_tokens(line), line);
  CHECK_FALSE(macro_tokens(std::string_view("a\0b", 3)));
}

TEST_CASE("a literal of tokens has one blank where some stood, and none at its ends") {
  const auto made = [](std::string_view line) { return stringized(*macro_tokens(line)); };
  CHECK(made("  a \t / b.h ") == "\"a / b.h\"");
  CHECK(made("\"a\\n\" '\"' $") == "\"\\\"a\\\\n\\\" '\\\"' $\"");
  CHECK(made("") == "\"\"");
}

TEST_CASE("every truncation of a line is read or not" * doctest::test_suite("loop")) {
  const std::string line = "a ## \"b\\\"\" 'c' 1.5e-3 <=> %:%: <a/b.h> ->*";
  for (std::size_t size = 0; size <= line.size(); ++size) {
    const auto tokens = macro_tokens(std::string_view(line).substr(0, size));
    if (tokens) CHECK(tokens->size() <= size);
  }
}
