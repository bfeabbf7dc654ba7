// SPDX-License-Identifier: Apache-2.0
#include "include_scanner.hpp"

#include <doctest/doctest.h>

using namespace cubinet;

namespace {

std::vector<std::string> names(std::string_view text) {
  std::vector<std::string> found;
  for (const IncludeDirective& directive : scan_includes(text).directives) {
    found.push_back(directive.quoted ? '"' + directive.name + '"' : '<' + directive.name + '>');
  }
  return found;
}

using Names = std::vector<std::string>;

Names computed(std::string_view text) {
  return scan_includes(text).computed;
}

}  // namespace

TEST_CASE("directives are found however they are written") {
  CHECK(names("#include <a.h>\n#include \"b/c.h\"\n") == Names{"<a.h>", "\"b/c.h\""});
  CHECK(names("  #  include\t<a.h>") == Names{"<a.h>"});
  CHECK(names("#include<a.h>") == Names{"<a.h>"});
  CHECK(names("# /* x */ include /* y */ <a.h>") == Names{"<a.h>"});
  CHECK(names("/* x */ #include <a.h>") == Names{"<a.h>"});
  CHECK(names("#inc\\\nlude <a\\\n.h>") == Names{"<a.h>"});
  CHECK(names("#include \\  \r\n <a.h>") == Names{"<a.h>"});
  CHECK(names("%:include <a.h>") == Names{"<a.h>"});
  CHECK(names("#include_next <a.h>") == Names{"<a.h>"});
  CHECK(names("#import <a.h>") == Names{"<a.h>"});
  CHECK(names("#if __has_include ( \"a.h\" ) || __has_include(<b.h>)") == Names{"\"a.h\"", "<b.h>"});
  CHECK(names("#include <a.h>\r\n#include <b.h>\r\n") == Names{"<a.h>", "<b.h>"});
}

TEST_CASE("conditions and comments do not hide a directive") {
  CHECK(names("#if 0\n#include <a.h>\n#endif\n// #include <b.h>\n/* #include <c.h> */\n\"#include <d.h>\"") ==
        Names{"<a.h>", "<b.h>", "<c.h>", "<d.h>"});
  CHECK(names("const char* s = \"/*\";\n#include <a.h>\n") == Names{"<a.h>"});
}

TEST_CASE("a name is listed once") {
  CHECK(names("#include <a>\n#include <a>\n#include \"a\"\n") == Names{"<a>", "\"a\""});
}

TEST_CASE("what is no include is passed over") {
  CHECK(names("#define include <a.h>\n#includes <a.h>\n#include <a.h\n#include <>\n# include\n#").empty());
  CHECK(names("").empty());
  CHECK(names("#include /* never ends").empty());
}

TEST_CASE("an include of a macro is told apart") {
  const IncludeScan scan = scan_includes("#include HEADER_NAME\n#include <a.h>\n");
  CHECK(scan.computed == Names{"#include HEADER_NAME"});
  CHECK(scan.directives.size() == 1);
  CHECK(computed("/* x */ # include\tSTR(a.h)\n%:include_next B") ==
        Names{"#include STR", "#include_next B"});
  CHECK(computed("#inc\\\nlude \\\n X") == Names{"#include X"});
}

TEST_CASE("a question whose header is not written out is told apart") {
  CHECK(computed("#if __has_include(WHERE)") == Names{"__has_include(WHERE)"});
  CHECK(computed("#define HI __has_include\n#if HI(<a.h>)") == Names{"__has_include"});
  CHECK(computed("#define HI(x) __has_include_next ( x )") == Names{"__has_include_next(x)"});
  CHECK(computed("#if defined(__has_include) && __has_include(X)") == Names{"__has_include(X)"});
  CHECK(computed("#ifdef __has_include\n#if __has_include(<a.h>) || __has_include( \"b.h\" )\n#endif\n#endif")
            .empty());
  CHECK(computed("#if defined __has_include || defined /* or */ ( __has_include )").empty());
  CHECK(computed("#ifndef __has_include\n#define __has_include(x) 0\n#endif").empty());
  CHECK(computed("#ifdef\n__has_include") == Names{"__has_include"});
}

TEST_CASE("what stands in a comment or a literal or within a line is not computed") {
  CHECK(computed("// the #include order matters\n// see issue #import taxes\n").empty());
  CHECK(computed("/* \n#include X\n __has_include(Y) */").empty());
  CHECK(computed("const char* s = \"#include me\";\nconst char* t = \"\\\"\\n#include me __has_include\";")
            .empty());
  CHECK(computed("auto s = R\"x(\n#include X\n)\" )x\";").empty());
  CHECK(computed("#define PRINT(x) #x\nint a; #include X\n").empty());
}

TEST_CASE("no literal, number or comment hides the code behind it") {
  const std::string code = "\n#include X\n";
  for (const char* before :
       {"\"/*\"", "'\"'", "'\\''", "\"\\\\\"", "int a = 1'000'000; // '", "#error don't", "u8'\"' L\"'\"",
        "auto s = R\"(\")\"; auto t = u8R\"d(/* )\" )d\";", "R\"not raw\"", "#include <a/*b>",
        "#include <don't/x>", "#include \"a\\\"", "#if __has_include(<a//*>)", "/* \" */", "// \" /*",
        "a < b", "FOOR\"(\"", "\""}) {
    CHECK_MESSAGE(computed(before + code) == Names{"#include X"}, before);
  }
}

TEST_CASE("every truncation gets an answer" * doctest::test_suite("loop")) {
  const std::string text =
      "#include <a.h> \\\n %: /* */ include_next \"b\" __has_include(<c>) R\"(\"\n#include M";
  for (std::size_t size = 0; size <= text.size(); ++size) {
    CHECK(scan_includes(std::string_view(text).substr(0, size)).directives.size() <= 3);
  }
}
