// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

// A part of a text: [begin, end).
struct TextRange {
  std::size_t begin = 0;
  std::size_t end = 0;
};

// One `#include` or `__has_include` and the header's name in it.
struct HeaderReference {
  std::string name;
  bool quoted = false;  // "name": the folder of the including file is searched first
  bool next = false;    // #include_next, __has_include_next: searched behind the folder of the including file
  bool asks = false;    // __has_include: the header may be missing
  // It is in a group that NVRTC skips because it defines __CUDACC__ and __CUDACC_RTC__. False if
  // that is not certain.
  bool host_only = false;
  TextRange word;     // the position of include, include_next, __has_include …
  TextRange operand;  // the name with its quotes or angle brackets
};

// An `#include` or a `__has_include` whose operand needs macro expansion, or a bare
// `__has_include`.
struct ComputedHeader {
  std::string text;       // as in the source
  std::string operand;    // with blanks for comments; of a `__has_include` with the ')' that closes it
  std::string unknown{};  // the reason if the operand does not determine the header; otherwise empty
};

// `#define`.
struct HeaderMacro {
  std::string name;
  std::string body;  // the rest of the line, with blanks for comments: "(a, b) a##b", " <lib/a.h>"
};

struct IncludeScan {
  std::vector<HeaderReference> references;  // in the order of the text, as the others
  std::vector<ComputedHeader> computed;
  std::vector<HeaderMacro> macros;
  bool is_unclear =
      false;  // a number goes on with a backslash: whether an apostrophe behind it begins a literal?
};

// The rules of the language standard for reading a text.
struct SourceDialect {
  bool trigraphs = false;          // before C++17: "??=" is '#'
  bool raw_literals = true;        // from C++11 on
  bool digit_separators = true;    // from C++14 on
  bool hexadecimal_floats = true;  // from C++17 on: "0x1p-3" is one number

  // Returns the rules of a standard, as in NVRTC's --std ("c++14"). Empty: C++17.
  static SourceDialect of(std::string_view standard);
};

// Reads a text as NVRTC's preprocessor does, but ignores conditions. A backslash joins lines,
// except in raw literals. A carriage return is white space. Comments and literals contain no
// directives. If this differs from the compiler, the compiler lacks a header; it never gets a
// header that was not scanned (include_closure.hpp). Takes linear time.
IncludeScan scan_includes(std::string_view text, const SourceDialect& dialect = {});

// Returns the text with these names in the references (one each, in the same order), all in angle
// brackets and without `next`. Line numbers stay the same. REQUIRES: `references` belong to this
// text.
std::string with_names(std::string_view text, const std::vector<HeaderReference>& references,
                       const std::vector<std::string>& names);

}  // namespace cubinet
