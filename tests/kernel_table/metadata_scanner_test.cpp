// SPDX-License-Identifier: Apache-2.0
#include "metadata_scanner.hpp"

#include <doctest/doctest.h>

#include <string>

namespace cubinet {
namespace {

// A visitor that records a scan as text.
class Recorder : public MetadataVisitor {
 public:
  void on_struct(std::string_view name, const std::vector<std::string_view>& fields) override {
    heard += "struct " + std::string(name);
    for (const auto field : fields)
      heard += " " + std::string(field);
    heard += "\n";
  }
  void on_row(std::string_view array_type, std::size_t line,
              std::span<const std::string_view> values) override {
    heard += std::string(array_type) + " at " + std::to_string(line) + ":";
    for (const auto value : values)
      heard += " [" + std::string(value) + "]";
    heard += "\n";
  }
  std::string heard;
};

std::string scan(std::string_view text) {
  Recorder recorder;
  const auto result = scan_metadata(text, recorder);
  return result ? recorder.heard : recorder.heard + "error: " + result.error().message;
}

TEST_CASE("structs give the names of their members in order") {
  CHECK(scan("struct A { int a; const char* b; bool c = false; unsigned char d[4]; ns::Type e; };") ==
        "struct A a b c d e\n");
  CHECK(scan("struct Forward; struct B { };") == "struct B\n");
  CHECK(scan("struct C { // int no;\n /* int never; */ int yes; };") == "struct C yes\n");
}

TEST_CASE("arrays give one row a brace list, nested braces and strings kept whole") {
  CHECK(
      scan("namespace n {\nstatic const ns::T table[] = {\n{ 1, \"a,}\", f(2, 3), {4, {5}} },\n{6},};\n}") ==
      "T at 3: [1] [\"a,}\"] [f(2, 3)] [{4, {5}}]\nT at 4: [6]\n");
  CHECK(scan("const T a[2] = { {/* x */ 1, 2 /* y */,}, };") == "T at 1: [1] [2 /* y */]\n");
  CHECK(scan("T a[] = {\n#ifndef X\n{1},\n#endif // X\n{2}};") == "T at 3: [1]\nT at 5: [2]\n");
}

TEST_CASE("what is neither a struct nor an array of lists is passed over") {
  CHECK(scan("#define A {1}\\\n {2}\nint f() { return '}'; } const char* s = \"{\"; int x = 4;").empty());
  CHECK(scan("").empty());
}

TEST_CASE("text that ends inside something is an error with its line") {
  CHECK(scan("T a[] = {\n{1, 2").find("inside a row (line 2)") != std::string::npos);
  CHECK(scan("T a[] = {").find("inside an array") != std::string::npos);
  CHECK(scan("struct A { int b;").find("inside a struct") != std::string::npos);
  CHECK(scan("/* never closed").find("inside a comment") != std::string::npos);
  CHECK(scan("\"never closed").find("inside a string") != std::string::npos);
  CHECK(scan("T a[] = {{\"x\\").find("inside a string") != std::string::npos);
  CHECK(scan("T a[] = {{1}, /").find("inside an array") != std::string::npos);
}

TEST_CASE("a million opening braces are counted, not recursed into") {
  CHECK(scan("T a[] = {{" + std::string(1'000'000, '{')).find("inside a row") != std::string::npos);
}

}  // namespace
}  // namespace cubinet
