// SPDX-License-Identifier: Apache-2.0
#include "standard_headers.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace cubinet {
namespace {

using Named = std::pair<std::string_view, std::string_view>;

// Headers that CCCL 2 and 3 (CUDA 12 and 13) provide under NVRTC.
constexpr std::array<std::string_view, 29> kHeaders = {"algorithm",
                                                       "array",
                                                       "atomic",
                                                       "bit",
                                                       "cassert",
                                                       "cfloat",
                                                       "chrono",
                                                       "climits",
                                                       "cmath",
                                                       "complex",
                                                       "concepts",
                                                       "cstddef",
                                                       "cstdint",
                                                       "cstdlib",
                                                       "cstring",
                                                       "functional",
                                                       "initializer_list",
                                                       "iterator",
                                                       "limits",
                                                       "memory",
                                                       "numeric",
                                                       "optional",
                                                       "ratio",
                                                       "span",
                                                       "tuple",
                                                       "type_traits",
                                                       "utility",
                                                       "variant",
                                                       "version"};

// C headers, whose names are also in the global namespace, and their C++ headers.
constexpr std::array<Named, 5> kHeadersOfC = {{{"float.h", "cfloat"},
                                               {"inttypes.h", "cstdint"},  // without the macros of formats
                                               {"limits.h", "climits"},
                                               {"stddef.h", "cstddef"},
                                               {"stdint.h", "cstdint"}}};

constexpr std::string_view kOnce = "#pragma once\n";
// Declarations of host functions name the type.
constexpr std::string_view kFile = "struct _IO_FILE;\ntypedef struct _IO_FILE FILE;\n";
constexpr std::string_view kBool = "#define __bool_true_false_are_defined 1\n";
constexpr std::array<Named, 8> kBuiltIn = {{{"assert.h", ""},
                                            {"cstdio", kFile},
                                            {"math.h", ""},
                                            {"memory.h", ""},
                                            {"stdbool.h", kBool},
                                            {"stdio.h", kFile},
                                            {"stdlib.h", ""},
                                            {"string.h", ""}}};

// CCCL's offsetof is no constant expression. NVRTC has no __builtin_offsetof, and before 13.0 not
// always __builtin_addressof, with which an overloaded operator& has no effect.
constexpr std::string_view kOffsetof =
    "#undef offsetof\n"
    "#if __CUDACC_VER_MAJOR__ > 12\n"
    "#define offsetof(type, member) ((size_t)__INTADDR__(__builtin_addressof(((type*)0)->member)))\n"
    "#else\n"
    "#define offsetof(type, member) ((size_t)__INTADDR__(&(((type*)0)->member)))\n"
    "#endif\n";

// The types of <stdint.h> in CCCL.
constexpr std::array<Named, 28> kStdintTypes = {{
    {"int8_t", "signed char"},
    {"int16_t", "short"},
    {"int32_t", "int"},
    {"int64_t", "long long"},
    {"uint8_t", "unsigned char"},
    {"uint16_t", "unsigned short"},
    {"uint32_t", "unsigned int"},
    {"uint64_t", "unsigned long long"},
    {"int_least8_t", "int8_t"},
    {"int_least16_t", "int16_t"},
    {"int_least32_t", "int32_t"},
    {"int_least64_t", "int64_t"},
    {"uint_least8_t", "uint8_t"},
    {"uint_least16_t", "uint16_t"},
    {"uint_least32_t", "uint32_t"},
    {"uint_least64_t", "uint64_t"},
    {"int_fast8_t", "int8_t"},
    {"int_fast16_t", "int16_t"},
    {"int_fast32_t", "int32_t"},
    {"int_fast64_t", "int64_t"},
    {"uint_fast8_t", "uint8_t"},
    {"uint_fast16_t", "uint16_t"},
    {"uint_fast32_t", "uint32_t"},
    {"uint_fast64_t", "uint64_t"},
    {"intptr_t", "int64_t"},
    {"uintptr_t", "uint64_t"},
    {"intmax_t", "int64_t"},
    {"uintmax_t", "uint64_t"},
}};
constexpr std::array<Named, 3> kStddefTypes = {
    {{"ptrdiff_t", "long"}, {"nullptr_t", "decltype(nullptr)"}, {"max_align_t", "long double"}}};

constexpr std::array<Named, 19> kStdintMacros = {{{"INT8_MIN", "(-128)"},
                                                  {"INT8_MAX", "127"},
                                                  {"UINT8_MAX", "255"},
                                                  {"INT16_MIN", "(-32768)"},
                                                  {"INT16_MAX", "32767"},
                                                  {"UINT16_MAX", "65535"},
                                                  {"INT32_MIN", "(-2147483647 - 1)"},
                                                  {"INT32_MAX", "2147483647"},
                                                  {"UINT32_MAX", "4294967295U"},
                                                  {"INT64_MIN", "(-9223372036854775807LL - 1)"},
                                                  {"INT64_MAX", "9223372036854775807LL"},
                                                  {"UINT64_MAX", "18446744073709551615ULL"},
                                                  {"INTPTR_MIN", "INT64_MIN"},
                                                  {"INTPTR_MAX", "INT64_MAX"},
                                                  {"UINTPTR_MAX", "UINT64_MAX"},
                                                  {"SIZE_MAX", "UINT64_MAX"},
                                                  {"INT64_C(value)", "value##LL"},
                                                  {"UINT32_C(value)", "value##U"},
                                                  {"UINT64_C(value)", "value##ULL"}}};
constexpr std::array<Named, 18> kLimitsMacros = {{{"CHAR_BIT", "8"},
                                                  {"SCHAR_MIN", "(-128)"},
                                                  {"SCHAR_MAX", "127"},
                                                  {"UCHAR_MAX", "255"},
                                                  {"CHAR_MIN", "SCHAR_MIN"},
                                                  {"CHAR_MAX", "SCHAR_MAX"},
                                                  {"SHRT_MIN", "(-32768)"},
                                                  {"SHRT_MAX", "32767"},
                                                  {"USHRT_MAX", "65535"},
                                                  {"INT_MIN", "(-2147483647 - 1)"},
                                                  {"INT_MAX", "2147483647"},
                                                  {"UINT_MAX", "4294967295U"},
                                                  {"LONG_MIN", "(-9223372036854775807L - 1)"},
                                                  {"LONG_MAX", "9223372036854775807L"},
                                                  {"ULONG_MAX", "18446744073709551615UL"},
                                                  {"LLONG_MIN", "(-9223372036854775807LL - 1)"},
                                                  {"LLONG_MAX", "9223372036854775807LL"},
                                                  {"ULLONG_MAX", "18446744073709551615ULL"}}};
constexpr std::array<Named, 24> kFloatMacros = {
    {{"FLT_RADIX", "2"},
     {"FLT_ROUNDS", "1"},
     {"FLT_MANT_DIG", "24"},
     {"FLT_DIG", "6"},
     {"FLT_DECIMAL_DIG", "9"},
     {"FLT_MIN_EXP", "(-125)"},
     {"FLT_MIN_10_EXP", "(-37)"},
     {"FLT_MAX_EXP", "128"},
     {"FLT_MAX_10_EXP", "38"},
     {"FLT_MAX", "3.40282346638528859811704183484516925e+38F"},
     {"FLT_EPSILON", "1.19209289550781250000000000000000000e-7F"},
     {"FLT_MIN", "1.17549435082228750796873653722224568e-38F"},
     {"FLT_TRUE_MIN", "1.40129846432481707092372958328991613e-45F"},
     {"DBL_MANT_DIG", "53"},
     {"DBL_DIG", "15"},
     {"DBL_DECIMAL_DIG", "17"},
     {"DBL_MIN_EXP", "(-1021)"},
     {"DBL_MIN_10_EXP", "(-307)"},
     {"DBL_MAX_EXP", "1024"},
     {"DBL_MAX_10_EXP", "308"},
     {"DBL_MAX", "1.79769313486231570814527423731704357e+308"},
     {"DBL_EPSILON", "2.22044604925031308084726333618164062e-16"},
     {"DBL_MIN", "2.22507385850720138309023271733240406e-308"},
     {"DBL_TRUE_MIN", "4.94065645841246544176568792868221372e-324"}}};

std::string_view header_of_cpp(std::string_view header) {
  for (const auto& [of_c, of_cpp] : kHeadersOfC) {
    if (of_c == header) return of_cpp;
  }
  return std::find(kHeaders.begin(), kHeaders.end(), header) != kHeaders.end() ? header : std::string_view();
}

bool is_of_c(std::string_view header) {
  return header_of_cpp(header) != header && !header_of_cpp(header).empty();
}

// Defines macros that CCCL's counterpart, included before, lacks in some releases.
std::string macros_of(std::string_view header) {
  std::span<const Named> macros;
  const std::string_view of_cpp = header_of_cpp(header);
  if (of_cpp == "cstdint") macros = kStdintMacros;
  if (of_cpp == "climits") macros = kLimitsMacros;
  if (of_cpp == "cfloat") macros = kFloatMacros;
  std::string text(of_cpp == "cstddef" ? kOffsetof : "");
  for (const auto& [macro, value] : macros) {
    const std::string name(macro.substr(0, macro.find('(')));
    text += "#ifndef " + name + "\n#define " + std::string(macro) + " " + std::string(value) + "\n#endif\n";
  }
  return text;
}

std::span<const Named> types_of(std::string_view header) {
  if (header == "stddef.h") return kStddefTypes;
  if (is_of_c(header) && header_of_cpp(header) == "cstdint") return kStdintTypes;
  return {};
}

}  // namespace

std::vector<std::string> counterparts_in_cccl(std::string_view header) {
  const std::string name(header_of_cpp(header));
  if (name.empty()) return {};
  // CCCL 3 has some headers only under an internal name.
  return {"cuda/std/" + name, "cuda/std/__" + name + "_"};
}

std::string standard_header(std::string_view header, std::string_view counterpart) {
  std::string text =
      std::string(kOnce) + "extern \"C++\" {\n#include <" + std::string(counterpart) +
      ">\n}\nnamespace cuda { namespace std {} }\nnamespace std { using namespace ::cuda::std; }\n";
  for (const auto& [type, same] : types_of(header))
    text += "using ::cuda::std::" + std::string(type) + ";\n";
  return text + macros_of(header);
}

std::optional<std::string> header_without_cccl(std::string_view header) {
  for (const auto& [name, text] : kBuiltIn) {
    if (name == header) return std::string(kOnce) + std::string(text);
  }
  if (!is_of_c(header)) return std::nullopt;
  std::string text(kOnce);
  for (const auto& [type, same] : types_of(header))
    text += "typedef " + std::string(same) + " " + std::string(type) + ";\n";
  return text + macros_of(header);
}

bool is_of_cccl(std::string_view name) {
  constexpr std::array<std::string_view, 4> kFolders = {"cub", "cuda", "nv", "thrust"};
  const std::string_view folder = name.substr(0, name.find('/'));
  return folder != name && std::find(kFolders.begin(), kFolders.end(), folder) != kFolders.end();
}

}  // namespace cubinet
