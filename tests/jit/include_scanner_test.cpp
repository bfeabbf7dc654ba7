// SPDX-License-Identifier: Apache-2.0
#include "include_scanner.hpp"

#include <doctest/doctest.h>

using namespace cubinet;

namespace {

std::vector<std::string> names(std::string_view text) {
  std::vector<std::string> found;
  for (const HeaderReference& reference : scan_includes(text).references)
    found.push_back(reference.quoted ? '"' + reference.name + '"' : '<' + reference.name + '>');
  return found;
}

// Every reference under the name "x".
std::string renamed(std::string_view text) {
  const auto references = scan_includes(text).references;
  return with_names(text, references, std::vector<std::string>(references.size(), "x"));
}

using Names = std::vector<std::string>;

Names computed(std::string_view text) {
  Names found;
  for (const ComputedHeader& header : scan_includes(text).computed)
    found.push_back(header.text);
  return found;
}

Names macros(std::string_view text) {
  Names found;
  for (const HeaderMacro& macro : scan_includes(text).macros)
    found.push_back(macro.name + macro.body);
  return found;
}

}  // namespace

TEST_CASE("what NVRTC skips for its own macros is for the host alone, where that is certain") {
  const auto host_only = [](const std::string& text) {
    const auto references = scan_includes(text).references;
    REQUIRE(references.size() == 1);
    return references.front().host_only;
  };
  for (const char* condition :
       {"ifndef __CUDACC_RTC__", "if !defined(__CUDACC_RTC__)", "if ! defined ( __CUDACC_RTC__ ) // no NVRTC",
        "if !defined __CUDACC__", "if defined(A) && !defined(__CUDACC_RTC__) && (B || C ? 1 : 0) == 1 && 1",
        "if (X > 1) \\\n && !defined(__CUDACC_RTC__)"}) {
    CAPTURE(condition);
    const bool plain = std::string_view(condition).find("||") == std::string_view::npos;
    CHECK(host_only("#" + std::string(condition) + "\n#include <a.h>\n#endif\n") == plain);
    CHECK_FALSE(host_only("#" + std::string(condition) + "\n#else\n#include <a.h>\n#endif\n"));
    CHECK_FALSE(host_only("#" + std::string(condition) + "\n#endif\n#include <a.h>\n"));
  }
  for (const char* condition : {"ifdef __CUDACC_RTC__", "if defined(__CUDACC_RTC__)", "if __CUDACC_RTC__"}) {
    CAPTURE(condition);
    CHECK_FALSE(host_only("#" + std::string(condition) + "\n#include <a.h>\n#endif\n"));
    CHECK(host_only("#" + std::string(condition) +
                    "\n#elif A\n#else\n#if B\n#include <a.h>\n#endif\n#endif\n"));
    CHECK(host_only("#" + std::string(condition) + "\n#elif A\n#include <a.h>\n#endif\n"));
  }
  for (const char* condition : {"ifdef __CUDACC_RTC", "if !defined(__CUDACC_RTC__) || A",
                                "if !(A && !defined(__CUDACC_RTC__) && B)", "if defined(__CUDACC_RTC__) && A",
                                "if A ? !defined(__CUDACC_RTC__) : 1", "ifndef __CUDACC_RTC_MINIMAL__"}) {
    CAPTURE(condition);
    CHECK_FALSE(host_only("#" + std::string(condition) + "\n#include <a.h>\n#endif\n"));
    CHECK_FALSE(host_only("#" + std::string(condition) + "\n#else\n#include <a.h>\n#endif\n"));
  }
  CHECK(host_only("#if 0\n#elif !defined(__CUDACC_RTC__)\n#include <a.h>\n#endif\n"));
  CHECK_FALSE(host_only("#endif\n#else\n#elif !defined(__CUDACC_RTC__)\n#include <a.h>\n"));
}

TEST_CASE("a word behind a literal is a part of it, and a sign behind an exponent one of the number") {
  for (const char* head : {"\"a\"R\"(", "'a'R\"(", "\"a\"u8R\"(", "R\"(x)\"R\"(", "1e+R\"(", "0x1p-R\"(",
                           "1.R\"(", "1'2'R\"(", "1'/*'", "'a'1'/*'"}) {
    CAPTURE(head);
    CHECK(names("#define Q " + std::string(head) + "\n#include <a.h>\n#define QQ )\"*/\n") == Names{"<a.h>"});
  }
  // One that does not end is none.
  CHECK(names("#define Q R\"(\n#include <a.h>\n") == Names{"<a.h>"});
  CHECK(names("#define Q \xc3\xa9u8R\"(\n#include <a.h>\n)\"\n").empty());
  CHECK(names("#define Q \xc3\xa9"
              "1p-R\"(\n#include <a.h>\n)\"\n") == Names{"<a.h>"});
  CHECK(names("#define Q \"a\" R\"(\n#include <a.h>\n)\"\n").empty());
}

TEST_CASE("the language standard decides what is a raw literal, a trigraph, or one number") {
  const auto count = [](std::string_view text, const char* standard) {
    return scan_includes(text, SourceDialect::of(standard)).references.size();
  };
  const std::vector<const char*> old = {"c++03", "c++11", "c++14"};
  const std::vector<const char*> recent = {"", "c++17", "c++20", "c++23"};
  for (const char* text : {"?\?=include <a.h>\n", "#inc?\?/\nlude <a.h>\n", "/?\?/\n/ /*\n#include <a.h>\n",
                           "#define Q \"?\?/\"/*\"\n#include <a.h>\n//*/\n"}) {
    CAPTURE(text);
    for (const char* standard : old)
      CHECK(count(text, standard) == 1);
  }
  for (const char* standard : recent) {
    CHECK(count("?\?=include <a.h>\n", standard) == 0);
    CHECK(count("// ?\?/\n#include <a.h>\n", standard) == 1);
  }
  for (const char* standard : old)
    CHECK(count("// ?\?/\n#include <a.h>\n", standard) == 0);
  CHECK(count("R\"(\n#include <a.h>\n)\"\n", "c++03") == 1);
  CHECK(count("R\"(\n#include <a.h>\n)\"\n", "c++11") == 0);
  CHECK(count("#define Q 1'a/*'\n#include <a.h>\n//*/\n", "c++11") == 1);
  CHECK(count("#define Q 0x1p-R\"(\n#include <a.h>\n)\"\n", "c++14") == 0);
}

TEST_CASE("directives are found however they are written") {
  CHECK(names("#include <a.h>\n#include \"b/c.h\"\n") == Names{"<a.h>", "\"b/c.h\""});
  CHECK(names("  #  include\t<a.h>") == Names{"<a.h>"});
  CHECK(names("#include<a.h>") == Names{"<a.h>"});
  CHECK(names("# /* x */ include /* y */ <a.h>") == Names{"<a.h>"});
  CHECK(names("/* x */ #include <a.h>") == Names{"<a.h>"});
  CHECK(names("#inc\\\nlude <a\\\n.h>") == Names{"<a.h>"});
  CHECK(names("#include \\\r\n <a.h>") == Names{"<a.h>"});
  CHECK(names("#\rinclude\v<a.h>") == Names{"<a.h>"});
  CHECK(names("%:include <a.h>") == Names{"<a.h>"});
  CHECK(names("#include_next <a.h>") == Names{"<a.h>"});
  CHECK(names("#if __has_include ( \"a.h\" ) || __has_include(<b.h>)") == Names{"\"a.h\"", "<b.h>"});
  CHECK(names("#include <a.h>\r\n#include <b.h>\r\n") == Names{"<a.h>", "<b.h>"});
}

TEST_CASE("conditions do not hide a directive, comments and literals do") {
  CHECK(names("#if 0\nit's\n#include <a.h>\n#endif\n// #include <b.h>\n/*\n#include <c.h>\n*/\n\"#include "
              "<d.h>\"") == Names{"<a.h>"});
  CHECK(names("// joined \\\n#include <a.h>\n#include <b.h>") == Names{"<b.h>"});
  CHECK(names("// a return ends no line\r#include <a.h>\n").empty());
  CHECK(names("const char* s = \"/*\";\n#include <a.h>\n") == Names{"<a.h>"});
  CHECK(names("auto s = R\"(\\\n)\";\n#include <a.h>\n") == Names{"<a.h>"});
  CHECK(names("auto s = u8R\"x(\n#include <b.h>\n)x\";\n#include <a.h>\n") == Names{"<a.h>"});
  CHECK(names("auto s = R\"\\\n(\";\n#include <a.h>\n) \"") == Names{"<a.h>"});
}

TEST_CASE("a name says what it is for") {
  const auto found =
      scan_includes("#include_next \"a\"\n#if __has_include(<b>) && __has_include_next(<c>)\n").references;
  REQUIRE(found.size() == 3);
  CHECK((found[0].next && found[0].quoted && !found[0].asks));
  CHECK((!found[1].next && !found[1].quoted && found[1].asks));
  CHECK((found[2].next && found[2].asks));
}

TEST_CASE("other names are put where the old ones stood, and lines stay") {
  CHECK(renamed("#include <a.h> // a.h\nint a;\n#include \"b.h\"") ==
        "#include <x> // a.h\nint a;\n#include <x>");
  CHECK(renamed("#include_next <a.h>\n#if __has_include_next(\"b\")") ==
        "#include <x>\n#if __has_include(<x>)");
  CHECK(renamed("#include <a\\\n.h>\n#inc\\\r\nlude_next \"b\"\nline 5") ==
        "#include <x>\\\n\n#include\\\n <x>\nline 5");
  CHECK(renamed("auto s = \"#include <a>\"; /* <b> */") == "auto s = \"#include <a>\"; /* <b> */");
  CHECK(renamed("") == "");
}

TEST_CASE("the time is in proportion to the text, whatever it holds") {
  for (const std::string_view chunk : {"#/*", "__has_include(", "R\"(", "#include <", "'", "\\\n", "/*"}) {
    std::string text;
    while (text.size() < (std::size_t{1} << 18))
      text += chunk;
    CHECK(scan_includes(text).references.empty());
  }
}

TEST_CASE("what is no include is passed over") {
  CHECK(names("#define include <a.h>\n#includes <a.h>\n#include <a.h\n#include <>\n# include\n#").empty());
  CHECK(names("").empty());
  CHECK(names("#include /* never ends").empty());
}

TEST_CASE("an include of a macro is told apart") {
  const IncludeScan scan = scan_includes("#include HEADER_NAME\n#include <a.h>\n");
  REQUIRE(scan.computed.size() == 1);
  CHECK(scan.computed[0].text == "#include HEADER_NAME");
  CHECK(scan.computed[0].operand == "HEADER_NAME");
  CHECK(scan.references.size() == 1);
  CHECK(computed("/* x */ # include\tSTR(a.h)\n%:include_next B") ==
        Names{"#include STR(a.h)", "#include_next B"});
  CHECK(computed("#inc\\\nlude \\\n X") == Names{"#include X"});
}

TEST_CASE("a question whose header is not written out is told apart") {
  CHECK(computed("#if __has_include(WHERE)") == Names{"__has_include(WHERE)"});
  CHECK(computed("#define HI __has_include\n#if HI(<a.h>)") == Names{"__has_include"});
  CHECK(computed("#define HI(x) __has_include_next ( x )") == Names{"__has_include_next(x )"});
  CHECK(computed("#if defined(__has_include) && __has_include(X)") == Names{"__has_include(X)"});
  CHECK(computed("#ifdef __has_include\n#if __has_include(<a.h>) || __has_include( \"b.h\" )\n#endif\n#endif")
            .empty());
  CHECK(computed("#if defined __has_include || defined /* or */ ( __has_include )").empty());
  CHECK(computed("#ifndef __has_include\n#define __has_include(x) 0\n#endif").empty());
  CHECK(computed("#ifdef\n__has_include") == Names{"__has_include"});
}

TEST_CASE("what stands in a comment or a literal or within a line is not computed") {
  CHECK(computed("// the #include order matters\n// see issue #include taxes\n").empty());
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

TEST_CASE("macros are told, with what follows their names") {
  CHECK(
      macros("#define H <a/b.h>  // c\n#  define I \"b // c.h\"\n#define ROOT lib/ARCH\n#define ARCH /* x */ "
             "sm-90\n") == Names{"H <a/b.h>", "I \"b // c.h\"", "ROOT lib/ARCH", "ARCH sm-90"});
  CHECK(
      macros(
          "#define F( x, /* the folder */ y) <y/x>\n#define G(x) #x\n#define EMPTY\n#define SUM a + b\n"
          "#define B (x)\n#define N\\\n 1\n#define OPEN(x\n#define A /*\n*/ '\"' /* */ b\n#define C$ 1\n") ==
      Names{"F( x, y) <y/x>", "G(x) #x", "EMPTY ", "SUM a + b", "B (x)", "N 1", "OPEN(x", "A '\"' b",
            "C $ 1"});
  const auto told = scan_includes("#define L " + std::string(5000, 'a') + "\n#include M").macros;
  REQUIRE(told.size() == 1);
  CHECK(told[0].body.ends_with('\\'));
  CHECK(told[0].body.size() < 4200);
}

TEST_CASE("the operand of an include is the rest of its line, that of a question goes to its end") {
  CHECK(computed("#include F(a b)\n#if __has_include(F( a.h ))\n") ==
        Names{"#include F(a b)", "__has_include(F( a.h ))"});
  CHECK(
      computed("#include F (a.h, (b)) x // c\n#include G(\n#include H\n#include E </tmp/a>\n#include A$\n") ==
      Names{"#include F (a.h, (b)) x", "#include G(", "#include H", "#include E </tmp/a>", "#include A$"});
  CHECK(computed("#include A\\u00c1\n#include (a)\n#include\n") ==
        Names{"#include A\\u00c1", "#include (a)"});
  CHECK(computed("#if __has_include(S(\")\") R + 1\n") == Names{"__has_include(S(\")\") R + 1"});
  const auto unknown = [](std::string_view text) {
    return !scan_includes(text).computed.front().unknown.empty();
  };
  CHECK_FALSE(unknown("#include X"));
  CHECK_FALSE(unknown("#define HAS __has_include(X)\n"));
  for (const char* text :
       {"#include_next X", "#define HAS(x) __has_include(x)", "#define HAS __has_include(X",
        "#define HAS __has_include", "#if __has_include_next(X)"})
    CHECK_MESSAGE(unknown(text), text);
}

TEST_CASE("a dollar sign is no part of a word") {
  CHECK(names("#define Q $R\"(\"/*)\"\n#include <a.h>\n//*/\n") == Names{"<a.h>"});
}

TEST_CASE("a number that a backslash follows is said to be unclear") {
  CHECK(scan_includes("#define Q 1\\u00c1'1'/*'\n").is_unclear);
  CHECK_FALSE(scan_includes("#define Q a\\u00c1 1 \\\n 2\n").is_unclear);
}

TEST_CASE("every truncation gets an answer" * doctest::test_suite("loop")) {
  const std::string text =
      "#include <a.h> \\\n %: /* */ include_next \"b\" __has_include(<c>) R\"(\"\n#include M";
  for (std::size_t size = 0; size <= text.size(); ++size) {
    CHECK(scan_includes(std::string_view(text).substr(0, size)).references.size() <= 3);
  }
}
