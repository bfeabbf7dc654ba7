// SPDX-License-Identifier: Apache-2.0
#include "include_closure.hpp"

#include "jit/test_templates.hpp"
#include "support/temp_dir.hpp"

#include <cubinet/kernel_templates/source_program.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>

using namespace cubinet;
namespace fs = std::filesystem;

namespace {

void write(const fs::path& path, std::string_view text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::trunc) << text;
}

IncludeClosure closure_of(const std::string& body, const std::vector<std::string>& directories = {}) {
  auto closure = close_over_includes(*test::parse_template(test::scale_source(body)), {directories, {}});
  REQUIRE_MESSAGE(closure, closure.error().message);
  return *closure;
}

const std::string* text_of(const IncludeClosure& closure, std::string_view name) {
  const auto found = std::find_if(closure.headers.begin(), closure.headers.end(),
                                  [&](const CompilerHeader& header) { return header.name == name; });
  return found == closure.headers.end() ? nullptr : &found->text;
}

bool reaches(const IncludeClosure& closure, std::string_view name) {
  return text_of(closure, name) != nullptr;
}

std::vector<std::string> names_in(const IncludeClosure& closure) {
  std::vector<std::string> names;
  for (const CompilerHeader& header : closure.headers)
    names.push_back(header.name);
  return names;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("embedded headers are followed through each other") {
  const IncludeClosure closure =
      closure_of("#include <cubinet/parameters.cuh>\n#include <cubinet/mma.cuh>\n");
  CHECK(reaches(closure, "cubinet/mma.cuh"));
  CHECK(reaches(closure, "cubinet/types.cuh"));
  CHECK_FALSE(reaches(closure, "cubinet/pdl.cuh"));
  CHECK(closure.stamps.empty());
  CHECK(closure.still_valid());
}

TEST_CASE("preludes are headers that are included before the first line, each from its own folder") {
  const test::TempDir folder;
  write(folder / "one/beside.h", "int one;\n");
  write(folder / "two/beside.h", "int two;\n");
  SourceProgram program;
  program.text = "\xef\xbb\xbf#include <p.h>\nint k;\n";
  program.headers = {{"p.h", "int mine;\n"}};
  program.preludes = {{"p.h", "#include \"beside.h\"\n", (folder / "one").string()},
                      {"p.h", "#include \"beside.h\"\n", (folder / "two").string()}};
  const auto close = [&] {
    const auto closure = close_over_includes(**program.as_template(), {});
    REQUIRE(closure);
    return *closure;
  };
  const IncludeClosure closure = close();
  CHECK(closure.source == "#include <p.h>\n#include <p.h~2>\n#line 1\n#include <p.h~3>\nint k;\n");
  CHECK(*text_of(closure, "p.h") == "#include <beside.h>\n");
  CHECK(*text_of(closure, "p.h~2") == "#include <beside.h~2>\n");
  CHECK(*text_of(closure, "beside.h~2") == "int two;\n");
  CHECK(*text_of(closure, "p.h~3") == "int mine;\n");
  write(folder / "two/beside.h", "int other;\n");
  CHECK(close().digest != closure.digest);
}

TEST_CASE("another source or another header is another closure") {
  const auto digest = [](const std::string& body) { return closure_of(body).digest; };
  CHECK(digest("#include <cubinet/pdl.cuh>\n") == digest("#include <cubinet/pdl.cuh>\n"));
  CHECK(digest("#include <cubinet/pdl.cuh>\n") != digest("#include <cubinet/pdl.cuh>\n "));
  CHECK(digest("#include <cubinet/pdl.cuh>\n") != digest("#include <cubinet/mma.cuh>\n"));
}

TEST_CASE("headers of include directories count by content and not by place") {
  const test::TempDir first;
  const test::TempDir second;
  for (const test::TempDir* place : {&first, &second}) {
    write(*place / "lib/a.h", "#include \"b.h\"\n#include <lib/c.h>\n");
    write(*place / "lib/b.h", "int b;\n");
    write(*place / "lib/c.h", "int c;\n#include \"a.h\"\n");
  }
  const std::string body = "#include <lib/a.h>\n";
  const auto digest = [&](const test::TempDir& place) { return closure_of(body, {place.path()}).digest; };
  const Sha256Digest before = digest(first);
  CHECK(before == digest(second));
  for (const char* name : {"lib/a.h", "lib/b.h", "lib/c.h"}) {
    std::ofstream(second / name, std::ios::app) << "// changed\n";
    CHECK_MESSAGE(digest(second) != before, name);
    fs::copy_file(first / name, second / name, fs::copy_options::overwrite_existing);
    CHECK(digest(second) == before);
  }
}

TEST_CASE("a closure is valid until a file changes, vanishes or appears where one was looked for") {
  const test::TempDir early;
  const test::TempDir late;
  write(late / "a.h", "int a;\n");
  const std::string body = "#include <a.h>\n#include <missing.h>\n";
  const std::vector<std::string> directories = {early.path(), late.path()};
  IncludeClosure closure = closure_of(body, directories);
  CHECK(closure.still_valid());
  write(early / "a.h", "int a;\n");
  CHECK_FALSE(closure.still_valid());
  CHECK(closure_of(body, directories).digest == closure.digest);  // from another folder, and the same text
  write(early / "a.h", "int b;\n");
  CHECK(closure_of(body, directories).digest != closure.digest);
  fs::remove(early / "a.h");
  CHECK(closure.still_valid());
  write(late / "missing.h", "int m;\n");
  CHECK_FALSE(closure.still_valid());
  CHECK(closure_of(body, directories).digest != closure.digest);
  fs::remove(late / "missing.h");
  write(late / "a.h", "int b;\n");
  CHECK_FALSE(closure.still_valid());
  fs::remove(late / "a.h");
  CHECK_FALSE(closure.still_valid());
}

TEST_CASE("the order of the directories matters") {
  const test::TempDir first;
  const test::TempDir second;
  write(first / "a.h", "int a = 1;\n");
  write(second / "a.h", "int a = 2;\n");
  CHECK(closure_of("#include <a.h>\n", {first.path(), second.path()}).digest !=
        closure_of("#include <a.h>\n", {second.path(), first.path()}).digest);
}

TEST_CASE("a file named by its absolute path is part of it") {
  const test::TempDir folder;
  write(folder / "a.h", "int a;\n");
  const std::string body = "#include \"" + (folder / "a.h").string() + "\"\n";
  const IncludeClosure closure = closure_of(body);
  REQUIRE(closure.stamps.size() == 1);
  CHECK(closure.stamps[0].exists);
  write(folder / "a.h", "int b;\n");
  CHECK(closure_of(body).digest != closure.digest);
}

TEST_CASE("a source that includes or asks for what nobody can know is refused with the reason") {
  for (const auto& [body, told] : std::vector<std::pair<std::string, std::string>>{
           {"#define X(a) #a __FILE__\n#define Y(a) X(a)\n#include Y((a) __FILE__) // c\n",
            "has '#include Y((a) __FILE__)', whose header cannot be determined before it is compiled: "
            "'__FILE__' "
            "may be a "
            "macro of the compiler's own"},
           {"#if __has_include(__FILE__)\n#endif\n", "'__has_include(__FILE__)'"},
           {"#define A$ <a.h>\n#undef A\n#define A \"/tmp/b.h\"\n#include A$\n", "by an absolute path"},
           {"#define A <a.h>\n#define A\\u00c1 \"/tmp/b.h\"\n#include A\\u00c1\n", "'#include A\\u00c1'"},
           {"#define Q 1\\u00c1'1'/*'\n#include \"/tmp/b.h\"\n//*/\n", "a number with a backslash"},
           {"#define HI __has_include\n#if HI(<a.h>)\n#endif\n", "'__has_include'"}}) {
    const std::string& source = body;
    CAPTURE(source);
    const auto closure = close_over_includes(*test::parse_template(test::scale_source(source)), {});
    REQUIRE_FALSE(closure);
    CHECK(closure.error().code == ErrorCode::invalid_argument);
    CHECK_MESSAGE(closure.error().message.find(told) != std::string::npos, closure.error().message);
  }
}

TEST_CASE("what macros with parameters make is followed, under every definition") {
  const test::TempDir folder;
  write(folder / "made.h",
        "#define STR(x) #x\n#define XSTR(...) STR(__VA_ARGS__)\n#define CAT(a,b) a##b\n"
        "#define XCAT(a, b) CAT(a, b)\n");
  for (const char* name : {"h_1.h", "h_2.h", "h_n.h"})
    write(folder / "lib" / name, std::string("// ") + name + "\n");
  const std::string body =
      "#include \"made.h\"\n#define n 1\n#include XSTR(lib/XCAT(h_, n).h)\n#undef n\n#define n 2\n";
  const IncludeClosure closure = closure_of(body, {folder.path()});
  CHECK(names_in(closure) == Names{"made.h", "lib/h_1.h", "lib/h_2.h", "lib/h_n.h"});
  write(folder / "lib/h_2.h", "// changed\n");
  CHECK(closure_of(body, {folder.path()}).digest != closure.digest);
  const auto given = close_over_includes(
      *test::parse_template(test::scale_source("#define H2(x) HEADER(x)\n#include H2(h_1)\n")),
      {{folder.path()}, {}, {{"HEADER", "(x) <lib/x.h>"}}});
  REQUIRE(given);
  CHECK(*text_of(*given, "lib/h_1.h") == "// h_1.h\n");
}

TEST_CASE("a source that speaks of includes in a comment or a literal is not refused") {
  for (const char* body :
       {"// the #include order matters\n", "// see issue #include taxes\n",
        "__device__ const char* s = \"#include me\";\n", "#ifdef __has_include\n#endif\n"}) {
    CHECK_MESSAGE(close_over_includes(*test::parse_template(test::scale_source(body)), {}), body);
  }
}

TEST_CASE("what a macro names is followed, whichever of its definitions holds") {
  const test::TempDir place;
  write(place / "lib/config.h",
        "#define ROOT lib/BACKEND\n#ifdef CPU\n#define BACKEND cpu\n#else\n#define BACKEND gpu\n#endif\n"
        "#define TAG <ROOT/tag.h>\n");
  write(place / "lib/gpu/tag.h", "int gpu;\n");
  write(place / "lib/cpu/tag.h", "int cpu;\n");
  write(place / "lib/a.h",
        "#include \"config.h\"\n#include TAG\n#define NEAR \"near.h\"\n#if __has_include(NEAR)\n#include "
        "NEAR\n#endif\n");
  const std::string body = "#include <lib/a.h>\n";
  const IncludeClosure before = closure_of(body, {place.path()});
  CHECK(names_in(before) == Names{"lib/a.h", "lib/config.h", "lib/cpu/tag.h", "lib/gpu/tag.h"});
  write(place / "lib/near.h", "int near;\n");
  CHECK_FALSE(before.still_valid());
  const IncludeClosure after = closure_of(body, {place.path()});
  CHECK(*text_of(after, "near.h") == "#include <lib/near.h>\n");
  CHECK(reaches(after, "lib/near.h"));
  CHECK(after.digest != before.digest);
  CHECK(reaches(closure_of("#define MINE <lib/near.h>\n#include MINE\n", {place.path()}), "lib/near.h"));
}

TEST_CASE("a header that is called as the source is lies beside it under another name") {
  const test::TempDir folder;
  write(folder / "x.cuh", "int x;\n");
  SourceProgram program;
  program.name = "x";
  program.ending = ".cuh";
  program.text = "#include <x.cuh>\n";
  const auto closure = close_over_includes(**program.as_template(), {{folder.path()}, {}});
  REQUIRE(closure);
  CHECK(names_in(*closure) == Names{"x.cuh~2"});
  program.text = "#include __FILE__\n";
  const auto refused = close_over_includes(**program.as_template(), {});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.starts_with("'x.cuh' has '#include __FILE__'"));
}

TEST_CASE("a header from memory that includes what a macro makes is refused, too") {
  SourceProgram program;
  program.text = "#include <a.h>\n";
  program.headers = {{"a.h", "#define S(x) #x\n#define T(x) S(x)\n#include T(/tmp/b.h)\n"}};
  const auto closure = close_over_includes(**program.as_template(), {});
  REQUIRE_FALSE(closure);
  CHECK_MESSAGE(closure.error().message.find("'T(/tmp/b.h)' names the header \"/tmp/b.h\" in 'a.h'") !=
                    std::string::npos,
                closure.error().message);
}

TEST_CASE("a macro that names an absolute path is refused, whether it is there or not") {
  const test::TempDir folder;
  write(folder / "a.h", "int a;\n");
  for (const char* name : {"a.h", "none.h"}) {
    const std::string path = (folder / name).string();
    const auto closure = close_over_includes(
        *test::parse_template(test::scale_source("#define H \"" + path + "\"\n#include H\n")), {});
    REQUIRE_FALSE(closure);
    CHECK_MESSAGE(
        closure.error().message.find("the macro 'H' names the header \"" + path) != std::string::npos,
        closure.error().message);
  }
}

TEST_CASE("a macro that is a name in one definition and something else in another is refused") {
  const test::TempDir folder;
  write(folder / "a.h", "int a;\n");
  const auto close = [&](const std::string& body,
                         const std::vector<std::pair<std::string, std::string>>& defined) {
    return close_over_includes(*test::parse_template(test::scale_source(body + "#include H\n")),
                               {{folder.path()}, {}, defined});
  };
  CHECK(close("#define H <a.h>\n", {}));
  CHECK(close("#ifndef H\n#define H <a.h>\n#endif\n", {{"H", " <a.h>"}}));
  for (const char* other : {"__S(/tmp/b.h)", "__FILE__", "<S(1)/tmp/b.h>", "S(/tmp/b.h)\n#define S(x) #x"})
    CHECK_FALSE_MESSAGE(close("#define H <a.h>\n#undef H\n#define H " + std::string(other) + "\n", {}),
                        other);
  CHECK_FALSE(close("#ifndef H\n#define H <a.h>\n#endif\n", {{"H", " __FILE__"}}));
  CHECK_FALSE(close("#define A\n#define H <A/tmp/b.h>\n", {}));
}

TEST_CASE("what nothing is found for leads to no header of the caller") {
  const test::TempDir folder;
  write(folder / "missing-header/0", "int x;\n");
  write(folder / "lib/none.h", "int y;\n");
  const IncludeClosure closure =
      closure_of("#if __has_include(<none.h>)\n#endif\n#include <missing-header/0>\n", {folder.path()});
  CHECK(closure.source.find("__has_include(<missing-header/0>)") != std::string::npos);
  CHECK(names_in(closure) == Names{"~missing-header/0"});
  // By a macro that names it the compiler would find the other.
  const std::string asks =
      "#define H <lib/../none.h>\n#if __has_include(H)\n#endif\n#define N <none.h>\n"
      "#if __has_include(N)\n#endif\n";
  write(folder / "below/a.h", "#include \"../none.h\"\n" + asks);
  write(folder / "none.h", "int z;\n");
  const auto both = close_over_includes(*test::parse_template(test::scale_source("#include <a.h>\n")),
                                        {{(folder / "below").string()}, {}});
  REQUIRE_FALSE(both);
  CHECK(both.error().message.find("'none.h', which a macro names") != std::string::npos);
}

TEST_CASE("a header that is found beside another goes on in all folders with what is included next") {
  const test::TempDir folder;
  write(folder / "first/a.h", "#include \"b.h\"\n");
  write(folder / "first/b.h", "#include_next <c.h>\n");
  write(folder / "first/c.h", "int first;\n");
  write(folder / "second/c.h", "int second;\n");
  const std::vector<std::string> folders = {(folder / "first").string(), (folder / "second").string()};
  CHECK(*text_of(closure_of("#include <a.h>\n", folders), "c.h") == "int first;\n");
  CHECK(*text_of(closure_of("#include <b.h>\n", folders), "c.h") == "int second;\n");
  write(folder / "c.h", "int beside;\n");
  const auto parsed =
      KernelTemplate::parse(test::scale_source("#include_next \"c.h\"\n"), "scale.cu", folder.path());
  REQUIRE(parsed);
  const auto closure = close_over_includes(**parsed, {folders, {}});
  REQUIRE(closure);
  CHECK(*text_of(*closure, "c.h") == "int beside;\n");
}

TEST_CASE("a header from memory goes before every file, and finds those of the folder of the source") {
  const test::TempDir folder;
  for (const char* name : {"a.h", "s/b.h", "i/a.h", "i/o.h"})
    write(folder / name,
          std::string("// ") + name + "\n" + (name == std::string_view("i/o.h") ? "#include \"a.h\"\n" : ""));
  SourceProgram program;
  program.text = "#include \"a.h\"\n#include \"s/m.h\"\n#include <o.h>\n";
  program.headers = {{"a.h", "// memory\n"}, {"s/m.h", "#include \"b.h\"\n"}};
  program.folder = folder.path();
  const auto closure = close_over_includes(**program.as_template(), {{(folder / "i").string()}, {}});
  REQUIRE(closure);
  CHECK(names_in(*closure) == Names{"a.h", "s/m.h", "o.h", "s/b.h"});
  CHECK(*text_of(*closure, "a.h") == "// memory\n");
  CHECK(*text_of(*closure, "s/b.h") == "// s/b.h\n");
}

TEST_CASE("a header from memory finds those beside it before others of the name") {
  SourceProgram program;
  program.text = "#include \"../inc/./a.h\"\n#include \"b.h\"\n";
  program.headers = {{"../inc/a.h", "#include \"b.h\"\n#include \"deep/c.h\"\n"},
                     {"../inc/b.h", "// beside\n"},
                     {"../inc/deep/c.h", "#include \"../b.h\"\n#include <b.h>\n"},
                     {"b.h", "// of the source\n"}};
  const auto closure = close_over_includes(**program.as_template(), {{}, {}});
  REQUIRE(closure);
  CHECK(closure->missing.empty());
  CHECK(closure->source == "#include <inc/a.h>\n#include <b.h>\n");
  CHECK(*text_of(*closure, "inc/a.h") == "#include <inc/b.h>\n#include <inc/deep/c.h>\n");
  CHECK(*text_of(*closure, "inc/deep/c.h") == "#include <inc/b.h>\n#include <b.h>\n");
}

TEST_CASE("the language standard of a request decides what a source includes") {
  const test::TempDir folder;
  write(folder / "a.h", "int a;\n");
  const auto source = test::parse_template(test::scale_source("?\?=include <a.h>\n"));
  HeaderSearch search{{folder.path()}, {}, {}};
  CHECK(close_over_includes(*source, search)->headers.empty());
  search.standard = "c++14";
  CHECK(close_over_includes(*source, search)->headers.size() == 1);
}

TEST_CASE("one file in two folders is two headers where what it includes beside itself differs") {
  const test::TempDir folder;
  for (const char* place : {"x", "y"}) {
    fs::create_directory(folder / place);
    write(folder / place / "b.h", "int b_of_" + std::string(place) + ";\n");
  }
  write(folder / "x/a.h", "#include \"b.h\"\n");
  write(folder / "x/c.h", "#pragma once\n");
  fs::create_hard_link(folder / "x/a.h", folder / "y/a.h");
  fs::create_symlink(folder / "x/c.h", folder / "y/c.h");
  fs::create_directory_symlink(folder / "x", folder / "z");
  const auto names_of = [&](const std::string& body) {
    const auto closure =
        close_over_includes(*test::parse_template(test::scale_source(body)), {{folder.path()}, {}, {}});
    REQUIRE(closure);
    return names_in(*closure);
  };
  CHECK(names_of("#include <x/a.h>\n#include <y/a.h>\n") == Names{"x/a.h", "y/a.h", "x/b.h", "y/b.h"});
  CHECK(names_of("#include <x/c.h>\n#include <y/c.h>\n") == Names{"x/c.h"});
  CHECK(names_of("#include <x/a.h>\n#include <z/a.h>\n") == Names{"x/a.h", "x/b.h"});
}

TEST_CASE("links that lead in circles are no headers, and headers that include each other are found once") {
  const test::TempDir folder;
  fs::create_symlink(folder / "b.h", folder / "a.h");
  fs::create_symlink(folder / "a.h", folder / "b.h");
  fs::create_directory_symlink(folder.path(), folder / "self");
  write(folder / "c.h", "#include \"d.h\"\n#include <self/self/self/d.h>\n");
  write(folder / "d.h", "#include \"c.h\"\n#include \"d.h\"\n#include <a.h>\n");
  const auto closure = close_over_includes(
      *test::parse_template(test::scale_source("#include <self/self/c.h>\n")), {{folder.path()}, {}, {}});
  REQUIRE(closure);
  CHECK(closure->headers.size() == 2);
  CHECK(closure->missing.size() == 1);
}

TEST_CASE("a NUL byte ends no text without a word") {
  const test::TempDir folder;
  const auto source =
      KernelTemplate::parse(test::scale_source(std::string("int a;\0#define B\n", 17)), "test.cu");
  if (source) {
    const auto refused = close_over_includes(**source, {});
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::invalid_argument);
  }
  write(folder / "a.h", std::string("int a;\0int b;\n", 14));
  const IncludeClosure closure = closure_of("#include <a.h>\n", {folder.path()});
  REQUIRE(closure.headers.size() == 1);
  CHECK(closure.headers[0].text == "int a;\n#error this header holds a NUL byte\n");
}

TEST_CASE("five hundred headers that include each other are read, one by one") {
  const test::TempDir folder;
  for (int i = 0; i < 500; ++i)
    write(folder / (std::to_string(i) + ".h"), "#include \"" + std::to_string(i + 1) + ".h\"\n");
  write(folder / "500.h", "int last;\n");
  CHECK(closure_of("#include <0.h>\n", {folder.path()}).headers.size() == 501);
}

TEST_CASE("a folder that holds nothing of it is no part of it") {
  const test::TempDir used;
  const test::TempDir idle;
  write(used / "a.h", "int a;\n");
  const auto digest = [](const std::vector<std::string>& directories) {
    return closure_of("#include <a.h>\n", directories).digest;
  };
  CHECK(digest({used.path()}) == digest({idle.path(), used.path(), idle.path()}));
}

TEST_CASE("each text names the headers by where they lie below their folders") {
  const test::TempDir place;
  write(place / "lib/a.h", "#include \"b.h\"\n#include \"../top.h\"\nconst char* s = \"#include <b.h>\";\n");
  write(place / "lib/b.h", "#if __has_include( \"none.h\" ) || __has_include(<lib/a.h>)\n#endif\n");
  write(place / "top.h", "#include <lib/../lib/b.h>\n");
  const IncludeClosure closure = closure_of("#include \"lib/a.h\"\nint x;", {place.path()});
  CHECK(names_in(closure) == Names{"lib/a.h", "lib/b.h", "top.h"});
  CHECK(closure.source.find("#include <lib/a.h>\nint x;") != std::string::npos);
  CHECK(*text_of(closure, "lib/a.h") ==
        "#include <lib/b.h>\n#include <top.h>\nconst char* s = \"#include <b.h>\";\n");
  CHECK(*text_of(closure, "lib/b.h") ==
        "#if __has_include( <missing-header/0> ) || __has_include(<lib/a.h>)\n#endif\n");
  CHECK(*text_of(closure, "top.h") == "#include <lib/b.h>\n");
  REQUIRE(closure.missing.size() == 1);
  CHECK(closure.missing[0].name == "none.h");
  CHECK(closure.missing[0].asked_by == "lib/b.h");
  CHECK(closure.missing[0].places == Names{place / "lib", place.path()});
}

TEST_CASE("equal names in two folders are two headers, and one file under two names is one") {
  const test::TempDir first;
  const test::TempDir second;
  write(first / "a.h", "#include \"same.h\"\n#include <other/b.h>\n#include_next <a.h>\n");
  write(first / "same.h", "int one;\n");
  write(second / "other/b.h", "#include \"../same.h\"\n");
  write(second / "same.h", "int two;\n");
  write(second / "a.h", "int behind;\n");
  fs::create_hard_link(first / "same.h", first / "alias.h");
  fs::create_symlink(first / "same.h", second / "link.h");
  const IncludeClosure closure =
      closure_of("#include <a.h>\n#include <alias.h>\n#include <link.h>\n", {first.path(), second.path()});
  CHECK(*text_of(closure, "a.h") == "#include <alias.h>\n#include <other/b.h>\n#include <a.h~2>\n");
  CHECK(*text_of(closure, "other/b.h") == "#include <same.h>\n");
  CHECK(*text_of(closure, "same.h") == "int two;\n");
  CHECK(*text_of(closure, "a.h~2") == "int behind;\n");
  CHECK(names_in(closure).size() == 5);
}

TEST_CASE("headers beside a template, embedded ones and those of a toolkit are found in this order") {
  const test::TempDir beside;
  const test::TempDir given;
  const test::TempDir toolkit;
  for (const test::TempDir* place : {&beside, &given, &toolkit}) {
    write(*place / "a.h", "// " + place->path().string() + "\n");
    write(*place / "cubinet/pdl.cuh", "// not ours\n");
  }
  write(toolkit / "cuda_fp16.h", "\n");
  const auto closure_with = [&](const std::string& body) {
    const auto source = test::scale_source(body);
    const auto beside_it = KernelTemplate::parse(source, "scale.cu", beside.path().string());
    REQUIRE(beside_it);
    return *close_over_includes(**beside_it, {{given.path()}, {toolkit.path()}});
  };
  CHECK(text_of(closure_with("#include \"a.h\"\n"), "a.h")->find(beside.path().string()) !=
        std::string::npos);
  CHECK(text_of(closure_with("#include <a.h>\n"), "a.h")->find(given.path().string()) != std::string::npos);
  CHECK(text_of(closure_with("#include <cubinet/pdl.cuh>\n"), "cubinet/pdl.cuh")->size() > 100);
  CHECK(reaches(closure_with("#include <cuda_fp16.h>\n"), "cuda_fp16.h"));
}

TEST_CASE("a name with odd characters cannot end its directive") {
  const test::TempDir place;
  write(place / "a >b.h", "int a;\n");
  const IncludeClosure closure = closure_of("#include \"a >b.h\"\n", {place.path()});
  CHECK(names_in(closure) == Names{"a__b.h"});
}

TEST_CASE("what a macro with parameters names is a header of the closure under that name") {
  const test::TempDir folder;
  write(folder / "cutlass.h",
        "#if NEW\n#define STD_HEADER(header) <cccl/cuda/std/header>\n#else\n"
        "# define STD_HEADER( header ) <cuda/std/header>\n#endif\n");
  write(folder / "uses.h", "#include STD_HEADER( /* of CCCL */ utility)\n");
  write(folder / "cccl/cuda/std/utility", "int utility;\n");
  const auto parsed = test::parse_template(test::scale_source("#include <cutlass.h>\n#include <uses.h>\n"));
  const auto closure = close_over_includes(*parsed, {{folder.path(), (folder / "cccl").string()}, {}});
  REQUIRE(closure);
  REQUIRE(text_of(*closure, "cccl/cuda/std/utility"));
  CHECK(*text_of(*closure, "cccl/cuda/std/utility") == "int utility;\n");
  CHECK(*text_of(*closure, "cuda/std/utility") == "#include <cccl/cuda/std/utility>\n");
}

TEST_CASE("a header of the caller that includes what nobody knows is refused, that of a toolkit is not") {
  const test::TempDir folder;
  write(folder / "mine/made.h", "#include __BASE_FILE__\n");
  write(folder / "mine/path.h", "#define STR(x) #x\n#include STR(/dev/zero)\n");
  write(folder / "mine/asks.h", "#define HAS(x) __has_include(x)\n");
  const auto close = [&](const std::string& body, bool toolkit) {
    const std::vector<std::string> directories = {(folder / "mine").string()};
    return close_over_includes(*test::parse_template(test::scale_source(body)),
                               toolkit ? HeaderSearch{{}, directories} : HeaderSearch{directories, {}});
  };
  const auto refused = close("#include <made.h>\n", false);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::invalid_argument);
  CHECK(refused.error().message.find("'made.h' has '#include __BASE_FILE__'") != std::string::npos);
  CHECK(close("#include <made.h>\n", true));
  CHECK(close("#include <asks.h>\n", false));
  for (const bool toolkit : {false, true}) {
    const auto path = close("#include <path.h>\n", toolkit);
    REQUIRE_FALSE(path);
    CHECK(path.error().message.find("by an absolute path") != std::string::npos);
  }
}

namespace {

std::shared_ptr<const IncludeClosure> shared_closure(const KernelTemplate& kernel_template,
                                                     const HeaderSearch& search) {
  auto closure = close_over_includes(kernel_template, search);
  REQUIRE_MESSAGE(closure.has_value(), closure.error().message);
  return std::make_shared<const IncludeClosure>(*std::move(closure));
}

}  // namespace

TEST_CASE("a parameter is used where a header of one of the sources has it that are linked") {
  test::TempDir dir;
  write(dir.path() / "own.h", "// tile\n");
  const auto used = [&](const char* further) {
    const auto parsed = KernelTemplate::parse(
        "", "t.cubinet.json", dir.path().string(),
        R"({"name": "t", "interface": 1, "parameters": [{"name": "tile", "type": "int", "default": 1}],
            "sources": ["more.cu"], "kernels": [{"name": "k", "threads": 1}]})",
        [&](const std::string&) -> Result<std::string> { return std::string(further); });
    REQUIRE_MESSAGE(parsed.has_value(), parsed.error().message);
    const KernelTemplate& more = *(*parsed)->linked_sources().front();
    return check_parameters_used(**parsed, {shared_closure(**parsed, {}), shared_closure(more, {})});
  };
  CHECK(used("#include \"own.h\"\n"));
  CHECK_FALSE(used("#include \"none.h\"\n"));
}

TEST_CASE("a parameter that only a header of the user has is used, and one that nothing has is an error") {
  test::TempDir dir;
  const auto closed = [&](const std::string& parameters, const std::string& body, bool toolkit = false) {
    const auto parsed =
        test::parse_template(R"(/* cubinet-template {"name": "t", "interface": 1, "parameters": [)" +
                             parameters + R"(], "kernels": [{"name": "k", "threads": 1}]} */)" + "\n" + body);
    const std::vector<std::string> folder = {dir.path().string()};
    HeaderSearch search{toolkit ? std::vector<std::string>() : folder,
                        toolkit ? folder : std::vector<std::string>()};
    return check_parameters_used(*parsed, {shared_closure(*parsed, search)});
  };
  write(dir.path() / "own.h", "// tile\n");
  const std::string tile = R"({"name": "tile", "type": "int", "default": 1})";
  const std::string include = "#include <own.h>\n";
  CHECK(closed(tile, "tile"));
  CHECK(closed(tile, include));
  CHECK_FALSE(closed(tile, include, true));
  const auto none = closed(tile, "#include <cubinet/parameters.cuh>\ntiles");
  REQUIRE_FALSE(none);
  CHECK(none.error().code == ErrorCode::invalid_argument);
  CHECK_MESSAGE(
      none.error().message.find("the parameter 'tile', and 'tile' stands neither") != std::string::npos,
      none.error().message);
  const auto macro = closed(R"({"name": "tile", "type": "int", "macro": "TILE"})", include);
  REQUIRE_FALSE(macro);
  CHECK(macro.error().message.find("the parameter 'tile', and 'TILE' stands neither") != std::string::npos);
  // Ours has words too, but knows nothing of this template.
  CHECK_FALSE(closed(R"({"name": "packed", "type": "int"})", "#include <cubinet/types.cuh>\n"));
}
