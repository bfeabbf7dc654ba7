// SPDX-License-Identifier: Apache-2.0
#include "header_macros.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace cubinet;

namespace {

using Names = std::vector<std::string>;
using Definitions = std::vector<std::pair<const char*, const char*>>;

MacroHeaders headers(const std::string& operand, const Definitions& definitions) {
  HeaderMacros macros;
  for (const auto& [name, body] : definitions)
    macros.define(name, body);
  return macros.headers_of(operand);
}

bool knows(const std::string& operand, const Definitions& definitions) {
  return headers(operand, definitions).unknown.empty();
}

const Definitions kMakers = {
    {"S", "(x) #x"}, {"XS", "(x) S(x)"}, {"CAT", "(a,b) a##b"}, {"XCAT", "(a,b) CAT(a,b)"}};

Definitions with_makers(Definitions more) {
  more.insert(more.end(), kMakers.begin(), kMakers.end());
  return more;
}

bool has(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

TEST_CASE("a macro names what each of its definitions is, through other macros, or its own name") {
  const Definitions definitions = {{"tag", " <root/detail/par.h>"},
                                   {"root", " lib/system/backend"},
                                   {"backend", " cuda"},
                                   {"backend", " omp"},
                                   {"quoted", " \"root/x.h\""}};
  const MacroHeaders tag = headers("tag", definitions);
  CHECK(tag.names == Names{"<lib/system/backend/detail/par.h>", "<lib/system/cuda/detail/par.h>",
                           "<lib/system/omp/detail/par.h>", "<root/detail/par.h>"});
  CHECK(tag.unknown.empty());
  CHECK(headers("quoted", definitions).names == Names{"\"root/x.h\""});
  for (const char* none : {"root", "other", "1", "(tag)"}) {
    CHECK(headers(none, definitions).names.empty());
    CHECK(knows(none, definitions));
  }
}

TEST_CASE("what is made of arguments is known with every definition of what makes it") {
  const MacroHeaders made =
      headers("XS(XCAT(h_,n).h)", with_makers({{"n", " 1"}, {"n", " 2"}, {"CAT", "(a,b) b"}}));
  for (const char* name : {"\"h_1.h\"", "\"h_2.h\"", "\"h_n.h\"", "\"1.h\"", "\"XCAT(h_,2).h\""})
    CHECK_MESSAGE(has(made.names, name), name);
  CHECK(made.unknown.empty());
}

TEST_CASE("a macro is one thing wherever it stands in a name") {
  const MacroHeaders many = headers("many", {{"many", " <x/x/x/x/x/x/x>"}, {"x", " 0"}, {"x", " 1"}});
  CHECK(many.names == Names{"<0/0/0/0/0/0/0>", "<1/1/1/1/1/1/1>", "<x/x/x/x/x/x/x>"});
  CHECK(many.unknown.empty());
}

TEST_CASE("whether a macro is defined at all may decide which argument is which") {
  const Definitions definitions = with_makers(
      {{"second", "(a,b,...) S(b)"}, {"pick", "(...) second(__VA_ARGS__, /tmp/evil,)"}, {"probe", " ~,"}});
  CHECK(has(headers("pick(probe lib/x)", definitions).names, "\"/tmp/evil\""));
}

TEST_CASE("what nobody can know is told with its reason") {
  const auto why = [](const std::string& operand, const Definitions& definitions) {
    return headers(operand, with_makers(definitions)).unknown;
  };
  CHECK(why("h", {{"h", " <a.h>"}, {"h", " \"\\x2ftmp\""}}).find("a quote or a backslash") !=
        std::string::npos);
  CHECK(
      why("h", {{"h", " <a.h>"}, {"h", " L\"a\" R\"(b)\""}}).find("definition of 'h' is not known: L\"a\"") !=
      std::string::npos);
  for (const char* word : {"__FILE__", "__CUDA_ARCH__", "__NEW_ONE(a)", "NV_IF_TARGET(a,b)", "__cplusplus"})
    CHECK_MESSAGE(why("XS(" + std::string(word) + ")", {}).find("the compiler's own") != std::string::npos,
                  word);
  CHECK_FALSE(why("__FILE__", {{"__FILE__", " <a.h>"}}).empty());
  for (const char* word : {"__THROW", "THROWBADALLOC", "_x"}) {
    CHECK_FALSE(why("h", {{"h", (" <" + std::string(word) + "/tmp/a.h>").c_str()}}).empty());
    CHECK(why("h", {{"h", (" <lib/" + std::string(word) + "/a.h>").c_str()}}).empty());
  }
  CHECK(why("S(__FILE__)", {}).empty());
  CHECK_FALSE(why("h$\\u00c1", {}).empty());
  CHECK_FALSE(why("S(a,b)", {}).empty());
}

TEST_CASE("an operand with more answers than are looked at is not known") {
  Definitions many = {{"many", " <a/b/c/d/e/f/g>"}};
  for (const char* name : {"a", "b", "c", "d", "e", "f", "g"})
    many.emplace_back(name, " 0");
  CHECK(headers("many", many).unknown.find("too many ways") != std::string::npos);
  std::vector<std::string> bodies;
  for (int i = 0; i < 100; ++i)
    bodies.push_back(" <" + std::to_string(i) + ">");
  HeaderMacros macros;
  for (const std::string& body : bodies)
    macros.define("h", body);
  CHECK_FALSE(macros.headers_of("h").unknown.empty());
  HeaderMacros chain;
  chain.define("c0", " <c1>");
  for (int i = 1; i < 30; ++i)
    chain.define("c" + std::to_string(i), " c" + std::to_string(i + 1));
  CHECK(chain.headers_of("c0").names.size() == 30);
}

TEST_CASE("a later definition counts for what was asked before") {
  HeaderMacros macros;
  macros.define("h", " <a.h>");
  CHECK(macros.headers_of("h").names == Names{"<a.h>"});
  macros.define("h", " <b.h>");
  CHECK(macros.headers_of("h").names == Names{"<a.h>", "<b.h>"});
}

TEST_CASE("what is replaced by nothing leaves what stands beside it") {
  CHECK(headers("h", {{"h", " <a/tmp/x.h>"}, {"a", ""}}).names == Names{"</tmp/x.h>", "<a/tmp/x.h>"});
  CHECK(headers("e </tmp/x.h>", {{"e", ""}}).names == Names{"</tmp/x.h>"});
  CHECK(headers("q(a.h)", {{"q", "(x) \"x\""}}).names == Names{"\"x\""});
}

TEST_CASE("the time for all operands together has a bound") {
  HeaderMacros macros(400'000);
  macros.define("h", " <a.h>");
  CHECK(macros.headers_of("h").names == Names{"<a.h>"});
  macros.define("S", "(x) T(x)");
  macros.define("T", "(x) #x");
  for (int i = 0; i < 16; ++i)
    macros.define("d" + std::to_string(i), " d" + std::to_string(i + 1) + " d" + std::to_string(i + 1));
  for (int i = 0; i < 4; ++i)
    CHECK_FALSE(macros.headers_of("S(d0 " + std::to_string(i) + ")").unknown.empty());
  macros.define("h", " <b.h>");
  CHECK_FALSE(macros.headers_of("h").unknown.empty());
}

TEST_CASE("the macros of a request are told apart from those with parameters") {
  const auto macros = header_macros({{"D:E", "1"}, {"D:F(x)", "<x>"}, {"D:H", "<a.h>"}, {"std", "c++20"}});
  CHECK(macros ==
        std::vector<std::pair<std::string, std::string>>{{"E", " 1"}, {"F", "(x) <x>"}, {"H", " <a.h>"}});
}
