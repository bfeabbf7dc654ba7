// SPDX-License-Identifier: Apache-2.0
#include "header_macros.hpp"

#include <doctest/doctest.h>

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

TEST_CASE("only what can stand in a header name counts") {
  for (const char* good : {"<a.h>", "\"a b.h\"", "lib/x", "12", "a-b+c", "<A/B>"})
    CHECK_MESSAGE(may_name_a_header(good), good);
  for (const char* bad : {"", "a + b", "f(x)", "\"a\" \"b\"", "do { } while (0)"})
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
