// SPDX-License-Identifier: Apache-2.0
#include "names.hpp"

#include <doctest/doctest.h>

using namespace cubinet;

TEST_CASE("identifiers are lower case names that are no words of the language") {
  for (const char* name : {"a", "head_dim_qk", "x1", "int8", "do_it"})
    CHECK_MESSAGE(is_identifier(name), name);
  for (const char* name :
       {"", "A", "1x", "_x", "a-b", "a b", "int", "template", "do", "tru\xc3\xa9", "x;y"}) {
    CHECK_MESSAGE(!is_identifier(name), name);
  }
  CHECK(is_identifier(std::string(64, 'a')));
  CHECK_FALSE(is_identifier(std::string(65, 'a')));
}

TEST_CASE("a choice may begin with a digit, and its enumerator then with an underscore") {
  for (const char* name : {"2x1", "128", "a_1", "1d"})
    CHECK_MESSAGE(is_choice_name(name), name);
  for (const char* name : {"", "_2x1", "2X1", "2-1", "auto"})
    CHECK_MESSAGE(!is_choice_name(name), name);
  CHECK(enumerator_of("2x1") == "_2x1");
  CHECK(enumerator_of("causal") == "causal");
}

TEST_CASE("a macro has any name but those that the language keeps for itself") {
  for (const char* name : {"N", "HEAD_ELEMS", "head", "_n", "x1"})
    CHECK_MESSAGE(is_macro_name(name), name);
  for (const char* name : {"", "1N", "A-B", "A B", "__CUDA_ARCH__", "_N", "A__B", "defined", "int", "F(x)",
                           "N\n", "cubinet", "\xc3\xa9"}) {
    CHECK_MESSAGE(!is_macro_name(name), name);
  }
  CHECK_FALSE(is_macro_name(std::string(65, 'A')));
}

TEST_CASE("a qualified name is identifiers with colons between them") {
  for (const char* name : {"fmaf", "my::Op", "a::b::c_1", "_x"})
    CHECK_MESSAGE(is_qualified_name(name), name);
  for (const char* name : {"", "::f", "f::", "a:b", "a::::b", "f()", "1f", "a b", "a::1"})
    CHECK_MESSAGE(!is_qualified_name(name), name);
}

TEST_CASE("a type has one spelling, and nothing that is no type is one") {
  CHECK(canonical_type("unsigned   long  long") == "unsigned long long");
  CHECK(canonical_type(" my::Pair< float , 4 > ") == "my::Pair<float,4>");
  CHECK(canonical_type("A<B<int> >") == "A<B<int>>");
  CHECK(canonical_type("const float *") == "const float*");
  CHECK(canonical_type("void (*) (int)") == "void(*)(int)");
  CHECK(canonical_type("::my::T[4]") == "::my::T[4]");
  CHECK(canonical_type("P<- 1>") == "P<-1>");
  for (const char* text : {"", " ", "4", "<int>", "A<B", "A>", "(A]", "int; int x", "A\n", "A//", "\"A\"",
                           "A{}", "#A", "A\\", "A\t", "A?B", "*", "int x = 1"}) {
    CHECK_MESSAGE(!canonical_type(text), text);
  }
  CHECK_FALSE(canonical_type(std::string(1025, 'a')));
}
