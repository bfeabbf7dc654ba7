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
  CHECK(scan.computed == Names{"HEADER_NAME"});
  CHECK(scan.directives.size() == 1);
}

TEST_CASE("every truncation gets an answer") {
  const std::string text = "#include <a.h> \\\n %: /* */ include_next \"b\" __has_include(<c>) #include M";
  for (std::size_t size = 0; size <= text.size(); ++size) {
    CHECK(scan_includes(std::string_view(text).substr(0, size)).directives.size() <= 3);
  }
}
