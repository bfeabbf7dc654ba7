// SPDX-License-Identifier: Apache-2.0
#include "header_macros.hpp"

#include <doctest/doctest.h>

#include <array>

using namespace cubinet;

namespace {

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("a macro names what each of its definitions is, through other macros") {
  HeaderMacros macros;
  macros.define("TAG", "<ROOT/detail/par.h>");
  macros.define("ROOT", "lib/system/BACKEND");
  macros.define("BACKEND", "cuda");
  macros.define("BACKEND", "omp");
  macros.define("QUOTED", "\"ROOT/x.h\"");
  CHECK(macros.headers_of("TAG") == Names{"<lib/system/cuda/detail/par.h>", "<lib/system/omp/detail/par.h>"});
  CHECK(macros.headers_of("QUOTED") == Names{"\"ROOT/x.h\""});
  CHECK(macros.headers_of("ROOT").empty());
  CHECK(macros.headers_of("UNKNOWN").empty());
}

TEST_CASE("macros that name themselves, or far too much, name nothing without end") {
  HeaderMacros macros;
  macros.define("A", "<B/a.h>");
  macros.define("B", "A");
  CHECK(macros.headers_of("A") == Names{"<A/a.h>"});
  macros.define("MANY", "<X/X/X/X/X/X/X>");
  macros.define("X", "0");
  macros.define("X", "1");
  macros.define("X", "2");
  CHECK(macros.headers_of("MANY").empty());
  HeaderMacros chain;
  chain.define("C0", "<C1>");
  for (int i = 1; i < 100; ++i)
    chain.define("C" + std::to_string(i), "C" + std::to_string(i + 1));
  CHECK(chain.headers_of("C0").size() == 1);
}

TEST_CASE("a macro is known where each of its definitions is a header name") {
  const auto knows = [](std::string_view macro, const std::vector<std::array<const char*, 3>>& definitions) {
    HeaderMacros macros;
    for (const auto& [name, parameters, replacement] : definitions)
      macros.define(name, replacement, parameters);
    return macros.knows(macro);
  };
  CHECK(knows("H", {{"H", "", "<a.h>"}, {"H", "", "\"b.h\""}}));
  CHECK(knows("H(a)", {{"H", "(x)", "<ROOT/x>"}, {"ROOT", "", "lib"}, {"ROOT", "", ""}}));
  CHECK(knows("H", {{"H", "", "<a.h>"}, {"S", "(x)", "#x"}}));
  CHECK_FALSE(knows("H", {}));
  for (const char* other : {"S(/tmp/a.h)", "__FILE__", "N", "", "\"a\" \"b\"", "\"\\x2ftmp\"",
                            "<A(1)/tmp/a.h>", "<a/**/b>", "<__THROW/tmp/a.h>", "<THROWBADALLOC/tmp/a.h>"})
    CHECK_FALSE_MESSAGE(knows("H", {{"H", "", "<a.h>"}, {"H", "", other}}), other);
  // Found through another one.
  CHECK_FALSE(knows("H", {{"H", "", "G"}, {"G", "", "<a.h>"}, {"G", "", "a b"}}));
  CHECK_FALSE(knows("H(a)", {{"H", "(x)", "<x>"}, {"H", "(x)", "#x"}}));
  CHECK_FALSE(knows("H(a)", {{"H", "(x)", "<x>"}, {"H", "(...)", "x"}}));
  CHECK_FALSE(knows("H(a)", {{"H", "(x)", "<x>"}, {"H", "(x,y)", "<y>"}}));
  CHECK_FALSE(knows("H(a)", {{"H", "(x)", "<x>"}, {"H", "", "S"}}));
  CHECK_FALSE(knows("H(a,b)", {{"H", "(x,y)", "<x##y>"}}));
  std::vector<std::array<const char*, 3>> many = {{"H", "", "<X/X/X/X/X/X/X>"}};
  for (const char* value : {"0", "1", "2"})
    many.push_back({"X", "", value});
  CHECK_FALSE(knows("H", many));
}

TEST_CASE("what is replaced by nothing leaves what stands beside it") {
  HeaderMacros macros;
  macros.define("H", "<A/tmp/x.h>");
  macros.define("A", "");
  CHECK(macros.headers_of("H") == Names{"</tmp/x.h>"});
  macros.define("Q(x)", "\"x\"");
  CHECK(macros.headers_of("Q(a.h)") == Names{"\"x\""});
}

TEST_CASE("only what can stand in a header name counts") {
  for (const char* good : {"", "<a.h>", "\"a b.h\"", "lib/x", "12", "a-b+c", "<A/B>"})
    CHECK_MESSAGE(may_name_a_header(good), good);
  for (const char* bad : {"a + b", "<a(b)>", "<a##b>", "\"a\\x2f\"", "<a//b>", "< a>", "f(x)", "\"a\" \"b\"",
                          "do { } while (0)"})
    CHECK_FALSE_MESSAGE(may_name_a_header(bad), bad);
  CHECK_FALSE(may_name_a_header(std::string(1000, 'a')));
}

TEST_CASE("a macro with parameters names what its arguments make of it, through other macros") {
  HeaderMacros macros;
  macros.define("STD_HEADER", "<cuda/std/header>", "(header)");
  macros.define("STD_HEADER", "<cccl/cuda/std/header>", "(header)");
  macros.define("BELOW", "<ROOT/folder/file>", "(folder,file)");
  macros.define("ROOT", "lib/cuda");
  CHECK(macros.headers_of("STD_HEADER(type_traits)") ==
        Names{"<cccl/cuda/std/type_traits>", "<cuda/std/type_traits>"});
  CHECK(macros.headers_of("BELOW(detail,x.h)") == Names{"<lib/cuda/detail/x.h>"});
  for (const char* none :
       {"STD_HEADER", "STD_HEADER()", "STD_HEADER(a,b)", "STD_HEADER(a", "ROOT(a)", "OTHER(a)"})
    CHECK_MESSAGE(macros.headers_of(none).empty(), none);
}
