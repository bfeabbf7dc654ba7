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
  // It is in a group that NVRTC skips because it defines __CUDACC__ and __CUDACC_RTC__. False if that is not
  // certain.
  bool host_only = false;
  TextRange word;     // include, include_next, __has_include …, where it stands
  TextRange operand;  // the name with its quotes or angle brackets
};

// An `#include` or a `__has_include` of what macros make, and a bare `__has_include`.
struct ComputedHeader {
  std::string text;       // as it stands in the code
  std::string operand;    // with blanks for comments; of a `__has_include` with the ')' that closes it
  std::string unknown{};  // why what it asks for does not follow from the operand; empty: it does
};

// `#define`.
struct HeaderMacro {
  std::string name;
  std::string body;  // what follows the name, with blanks for comments: "(a, b) a##b", " <lib/a.h>"
};

struct IncludeScan {
  std::vector<HeaderReference> references;  // in the order of the text, as the others
  std::vector<ComputedHeader> computed;
  std::vector<HeaderMacro> macros;
  bool is_unclear =
      false;  // a number goes on with a backslash: whether an apostrophe behind it begins a literal?
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
