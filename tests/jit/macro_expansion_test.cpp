// SPDX-License-Identifier: Apache-2.0
#include "macro_expansion.hpp"

#include <doctest/doctest.h>

#include <map>

using namespace cubinet;

namespace {

// An environment with one definition per name.
struct Defined final : MacroEnvironment {
  std::map<std::string, MacroDefinition> macros;
  bool again = true;

  const MacroDefinition* find(const std::string& name, bool /*called*/, std::string& unknown) override {
    if (name == "UNKNOWN") unknown = "nobody knows";
    const auto found = macros.find(name);
    return found == macros.end() ? nullptr : &found->second;
  }
  bool replaces_again() override { return again; }
};

using NamedBodies = std::vector<std::pair<const char*, const char*>>;

const NamedBodies kMacros = {{"S", "(x) #x"},
                             {"XS", "(x) S(x)"},
                             {"CAT", "(a,b) a##b"},
                             {"XCAT", "(a, b) CAT(a, b)"},
                             {"V", "(...) %:__VA_ARGS__"},
                             {"XV", "(...) V(__VA_ARGS__)"},
                             {"N", " 3"},
                             {"E", ""}};

// Returns the header's name, or "?" and the reason if it is unknown.
std::string header(const char* operand, const NamedBodies& more = {}, bool again = true,
                   std::size_t steps = 100000) {
  Defined defined;
  defined.again = again;
  for (const NamedBodies* macros : {&kMacros, &more}) {
    for (const auto& macro : *macros) {
      const auto read = MacroDefinition::read(macro.second);
      REQUIRE_MESSAGE(read, macro.second);
      defined.macros[macro.first] = *read;
    }
  }
  const auto tokens = macro_tokens(operand);
  REQUIRE_MESSAGE(tokens, operand);
  MacroExpansion expansion(defined, steps);
  const std::string name = expansion.header_name(*tokens);
  return expansion.unknown().empty() ? name : "?" + expansion.unknown();
}

}  // namespace

// NVRTC 13.0 and 13.5 both request these headers.
TEST_CASE("a literal is made of the argument as it stands, or of what it stands for") {
  CHECK(header("S(a / b.h)") == "\"a / b.h\"");
  CHECK(header("S( XCAT(h_,N).h )") == "\"XCAT(h_,N).h\"");
  CHECK(header("XS(XCAT(h_,N).h)") == "\"h_3.h\"");
  CHECK(header("XS(CAT(h_,N).h)") == "\"h_N.h\"");
  CHECK(header("XS(E a E.h E)") == "\"a .h\"");
  CHECK(header("XS(a E b)") == "\"a b\"");
  CHECK(header("XS(E.N E.)") == "\".3 .\"");
  CHECK(header("XS(-M)", {{"M", " -"}}) == "\"--\"");
  CHECK(header("S (a.h)") == "\"a.h\"");
  CHECK(header("S(N) S(E)") == "\"N\"");
  CHECK(header("S()").empty());
}

TEST_CASE("the rest of the arguments is one, and a comma before it goes where there is none") {
  CHECK(header("V(a,b , c)") == "\"a,b , c\"");
  CHECK(header("XV(a C N)", {{"C", " ,"}}) == "\"a , 3\"");
  CHECK(header("W(a)", {{"W", "(a,...) XV(x,##__VA_ARGS__)"}}) == "\"x\"");
  CHECK(header("W(a,)", {{"W", "(a,...) XV(x,##__VA_ARGS__)"}}) == "\"x\"");
  CHECK(header("W(a,b,N)", {{"W", "(a,...) XV(x,##__VA_ARGS__)"}}) == "\"x,b,3\"");
  CHECK(header("W(a,b)", {{"W", "(a...) #a"}}) == "\"a,b\"");
  CHECK(header("V()").empty());
}

TEST_CASE("tokens in angle brackets are a name, with the blanks between them") {
  CHECK(header("E </tmp/x>") == "</tmp/x>");
  CHECK(header("L /tmp/x >", {{"L", " <"}}) == "< /tmp/x>");
  CHECK(header("L/E/N.h> b", {{"L", " <a"}}) == "<a//3.h>");
  CHECK(header("W(a,)", {{"W", "(x,y) <x y/z x>"}}) == "<a /z a>");
  CHECK(header("W(,a)", {{"W", "(x,y) <x y>"}}) == "< a>");
  CHECK(header("W(lib)", {{"W", "(x) < x /N.h>"}}) == "< lib /3.h>");
  for (const char* none : {"< a", "<>", "a.h", "(S(a))", "S", "'a'", "\"\"", "", ">"})
    CHECK_MESSAGE(header(none).empty(), none);
  for (const char* unknown : {"<a->b>", "<a \"b\">", "<= a>", "S(\"x.h\")"})
    CHECK_MESSAGE(header(unknown).starts_with('?'), unknown);
}

TEST_CASE("what a replacement leaves is read again with what follows it") {
  CHECK(header("W(N)", {{"W", " XS"}}) == "\"3\"");
  CHECK(header("W(1)(N)", {{"W", "(x) S"}}) == "\"N\"");
  CHECK(header("W(S,(N))", {{"W", "(x,y) x y"}}) == "\"3\"");
  CHECK(header("O a)", {{"O", " S("}}) == "\"a\"");
  CHECK(header("W(a)", {{"W", "(x) <x/W(x)>"}}) == "<a/W(a)>");
  CHECK(header("XS(f(1)(2)(3))", {{"f", "(a) a*f"}}) == "\"1*f(2)(3)\"");
  CHECK(header("XS(AA()()())", {{"AA", "() BB"}, {"BB", "() CC AA"}}) == "\"CC BB\"");
  const NamedBodies nested = {{"f", "(a) a*g"}, {"g", "(a) f(a)"}};
  CHECK(header("XS(f(2)(9))", nested) == "\"2*9*g\"");
  CHECK(header("XS(f(2)(9))", nested, false) == "\"2*f(9)\"");
}

TEST_CASE("tokens that are put together are one, or two beside each other") {
  CHECK(header("XS(CAT(lib/, N.h))") == "\"lib/3.h\"");
  CHECK(header("XS(CAT(N,/ a))") == "\"3/ a\"");
  CHECK(header("W(N,N)", {{"W", "(a,b) <lib/##a##b/N ## .h>"}}) == "<lib/NN/3.h>");
  CHECK(header("XS(CAT(f,/)(1))", {{"f", "(x) [x]"}}) == "\"f/(1)\"");
  CHECK(header("XS(CAT(,).h)") == "\".h\"");
  CHECK(header("XS(CAT(1e,+)a)") == "\"1e+a\"");
  CHECK(header("XS(CAT(-,>)x)") == "\"->x\"");
  for (const char* unknown : {"XS(CAT(/,/)tmp)", "XS(CAT(\"a\",b))", "XS(CAT(a,\"b\"))"})
    CHECK_MESSAGE(header(unknown).starts_with('?'), unknown);
}

TEST_CASE("what the compiler warns of, or the environment does not tell, is not known") {
  for (const char* unknown : {"S(a,b)", "CAT(a)", "S(a", "XS(S(a)", "UNKNOWN", "XS(UNKNOWN)", "<a/UNKNOWN>"})
    CHECK_MESSAGE(header(unknown).starts_with('?'), unknown);
  CHECK(header("S(UNKNOWN)") == "\"UNKNOWN\"");
}

TEST_CASE("a definition with a sign in the wrong place is not read") {
  for (const char* body : {"(x) #y", "(x) ## x", "(x) x ##", "(x", "(x,) x", "(x,x) x", "(...,x) x", "(1) a",
                           " __VA_ARGS__", "(...) __VA_OPT__(,)", " a##", " 1'000", "(x) #"})
    CHECK_FALSE_MESSAGE(MacroDefinition::read(body), body);
  for (const char* body : {"", " ", "()", "( a , ... ) a", "(a...) a", " #", " a # b", "$ 1"})
    CHECK_MESSAGE(MacroDefinition::read(body), body);
}

TEST_CASE("macros without end, and texts that double, end") {
  std::vector<std::string> bodies;
  for (int i = 0; i < 60; ++i)
    bodies.push_back(" D" + std::to_string(i + 1) + " D" + std::to_string(i + 1));
  NamedBodies doubling;
  std::vector<std::string> names;
  for (int i = 0; i < 60; ++i)
    names.push_back("D" + std::to_string(i));
  for (std::size_t i = 0; i < bodies.size(); ++i)
    doubling.emplace_back(names[i].c_str(), bodies[i].c_str());
  CHECK(header("XS(D0)", doubling).starts_with('?'));
  std::string deep = "a";
  for (int i = 0; i < 200; ++i)
    deep = "I(" + deep + ")";
  CHECK(header(("XS(" + deep + ")").c_str(), {{"I", "(x) x"}}).starts_with('?'));
  std::string literals = "a";
  for (int i = 0; i < 30; ++i)
    literals = "XS(" + literals + ")";
  CHECK(header(literals.c_str()).starts_with('?'));
}
