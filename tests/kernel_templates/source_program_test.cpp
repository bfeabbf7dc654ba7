// SPDX-License-Identifier: Apache-2.0
#include <cubinet/kernel_templates/source_program.hpp>
#include <cubinet/spec/kernel_key.hpp>

#include <doctest/doctest.h>

using namespace cubinet;

namespace {

SourceProgram a_program() {
  SourceProgram program;
  program.name = "axpy";
  program.text = "template <class T> __global__ void axpy(T* y) { y[threadIdx.x] += 1; }\n";
  program.kernels = {"axpy<float>", "axpy<double>"};
  program.headers = {{"mine.h", "// mine\n"}};
  program.flags = {"-DN=4"};
  return program;
}

KernelId id_of(const SourceProgram& program) {
  const auto made = program.as_template();
  REQUIRE_MESSAGE(made.has_value(), made.error().to_line());
  return identify(*(*made)->resolve({}));
}

}  // namespace

TEST_CASE("all that a source says is its identity, and where it lies is not") {
  const KernelId id = id_of(a_program());
  CHECK(id_of(a_program()) == id);
  CHECK(id.maker() == KernelMaker::source);
  const auto is_another = [&](const char* what, const auto& change) {
    SourceProgram program = a_program();
    change(program);
    CHECK_MESSAGE(!(id_of(program) == id), what);
  };
  is_another("name", [](SourceProgram& program) { program.name = "other"; });
  is_another("text", [](SourceProgram& program) { program.text += " "; });
  is_another("kernels", [](SourceProgram& program) { program.kernels.pop_back(); });
  is_another("order", [](SourceProgram& program) { std::swap(program.kernels[0], program.kernels[1]); });
  is_another("header", [](SourceProgram& program) { program.headers["mine.h"] += " "; });
  is_another("another header", [](SourceProgram& program) { program.headers["more.h"] = ""; });
  is_another("globals", [](SourceProgram& program) { program.globals = {"table"}; });
  is_another("flags", [](SourceProgram& program) { program.flags = {"-DN=5"}; });
  SourceProgram elsewhere = a_program();
  elsewhere.folder = "/somewhere";
  elsewhere.flags = {"-D", "N=4"};
  CHECK(id_of(elsewhere) == id);
}

TEST_CASE("its functions have the names that were asked for, and what a launch needs is left to the caller") {
  const auto made = *a_program().as_template();
  const KernelSpec spec = *made->resolve({});
  const auto entries = *made->entry_points(spec);
  REQUIRE(entries.size() == 2);
  CHECK(entries[1].name == "axpy<double>");
  CHECK(entries[1].threads == 0);
  CHECK(made->symbol_expressions()[1] == "axpy<double>");
  CHECK(made->headers().at("mine.h") == "// mine\n");
  CHECK(spec.to_string() == "axpy -DN=4");
}

TEST_CASE("what cannot be a source is refused by name") {
  const auto refused = [](const auto& change) {
    SourceProgram program = a_program();
    change(program);
    const auto made = program.as_template();
    REQUIRE_FALSE(made);
    CHECK(made.error().code == ErrorCode::invalid_argument);
  };
  for (const char* name : {"", "a/b", "a\nb", "<a>"})
    refused([&](SourceProgram& program) { program.name = name; });
  refused([](SourceProgram& program) { program.text += std::string(1, '\0'); });
  refused([](SourceProgram& program) { program.kernels.emplace_back("axpy<float>"); });
  refused([](SourceProgram& program) { program.kernels.emplace_back(""); });
  refused([](SourceProgram& program) { program.globals = {"table", "table"}; });
  refused([](SourceProgram& program) { program.globals = {"a\nb"}; });
  refused([](SourceProgram& program) { program.headers["a>b"] = ""; });
  refused([](SourceProgram& program) { program.flags = {"--create-pch=x"}; });
}
