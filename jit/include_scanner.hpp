// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

// A part of a text: from `begin` up to, and without, `end`.
struct TextRange {
  std::size_t begin = 0;
  std::size_t end = 0;
};

// One `#include` or `__has_include` and the header's name in it.
struct HeaderReference {
  std::string name;
  bool quoted = false;  // "name": the folder of the including file is searched first
  bool next = false;    // #include_next, __has_include_next: searched behind the folder of the including file
  bool asks = false;    // __has_include: it may be missing
  TextRange word;       // include, include_next, __has_include …, where it stands
  TextRange operand;    // the name with its quotes or angle brackets
};

// `#include MACRO`, `#include MACRO(x)`, `__has_include(MACRO)` and a bare `__has_include`: what they ask for
// the preprocessor alone knows.
struct ComputedHeader {
  std::string text;   // as it stands in the code
  std::string macro;  // with its arguments and no blanks; empty where there is none
};

// `#define NAME REPLACEMENT` and `#define NAME(a, b) REPLACEMENT`.
struct HeaderMacro {
  std::string name;
  std::string parameters;   // as they stand there, without blanks: "(a,b)"; empty where there are none
  std::string replacement;  // kNoHeader where it can be no part of a header's name
};

struct IncludeScan {
  std::vector<HeaderReference> references;  // in the order of the text, as the others
  std::vector<ComputedHeader> computed;
  std::vector<HeaderMacro> macros;
};

// What the language standard decides of how a text is read.
struct SourceDialect {
  bool trigraphs = false;          // before C++17: "??=" is '#'
  bool raw_literals = true;        // from C++11 on
  bool digit_separators = true;    // from C++14 on
  bool hexadecimal_floats = true;  // from C++17 on: "0x1p-3" is one number

  // "c++14", as NVRTC's --std has it; empty is C++17.
  static SourceDialect of(std::string_view standard);
};

// Reads a text as NVRTC's preprocessor does, conditions disregarded: lines that a backslash continues are
// one, but not in raw literals; a carriage return is white space; comments and literals hold no directives.
// What is read otherwise than the compiler reads it is a header that the compiler does not get, never one
// that it gets and that nobody has seen (include_closure.hpp). Takes time in proportion to the text.
IncludeScan scan_includes(std::string_view text, const SourceDialect& dialect = {});

// The text with other names in these references (one each, in the same order), all of them in angle brackets
// and none of them `next`. Lines stay where they are. REQUIRES: `references` is of this text.
std::string with_names(std::string_view text, const std::vector<HeaderReference>& references,
                       const std::vector<std::string>& names);

}  // namespace cubinet
