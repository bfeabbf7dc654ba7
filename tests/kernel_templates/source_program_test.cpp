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

SourceProgram source(std::string name, std::string text) {
  SourceProgram program;
  program.name = std::move(name);
  program.text = std::move(text);
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
  is_another("ending", [](SourceProgram& program) { program.ending = ".cuh"; });
  is_another("text", [](SourceProgram& program) { program.text += " "; });
  is_another("kernels", [](SourceProgram& program) { program.kernels.pop_back(); });
  is_another("order", [](SourceProgram& program) { std::swap(program.kernels[0], program.kernels[1]); });
  is_another("header", [](SourceProgram& program) { program.headers["mine.h"] += " "; });
  is_another("another header", [](SourceProgram& program) { program.headers["more.h"] = ""; });
  is_another("a prelude", [](SourceProgram& program) { program.preludes = {{"p.h", "", ""}}; });
  is_another("globals", [](SourceProgram& program) { program.globals = {"table"}; });
  is_another("a source", [](SourceProgram& program) { program.sources.push_back(source("b", "")); });
  is_another("a library", [](SourceProgram& program) { program.libraries = {"cudadevrt"}; });
  is_another("flags", [](SourceProgram& program) { program.flags = {"-DN=5"}; });
  SourceProgram elsewhere = a_program();
  elsewhere.folder = "/somewhere";
  elsewhere.flags = {"-D", "N=4"};
  CHECK(id_of(elsewhere) == id);
}

TEST_CASE("a source is called as its file is") {
  SourceProgram program = a_program();
  CHECK((*program.as_template())->file_name() == program.name + ".cu");
  program.ending = ".cuh";
  CHECK((*program.as_template())->file_name() == program.name + ".cuh");
  program.ending = "/..";
  CHECK_FALSE(program.as_template());
}

TEST_CASE("names, texts and order of preludes are identity, and each source has them") {
  SourceProgram program = a_program();
  program.preludes = {{"a.h", "// a", "/here"}, {"b.h", "// b", ""}};
  program.sources = {source("more", "")};
  const KernelId id = id_of(program);
  program.preludes[0].folder = "/there";
  CHECK(id_of(program) == id);
  const auto made = *program.as_template();
  CHECK(made->preludes() == program.preludes);
  CHECK(made->linked_sources()[0]->preludes() == program.preludes);
  const auto is_another = [&](const auto& change) {
    SourceProgram changed = program;
    change(changed.preludes);
    CHECK_FALSE(id_of(changed) == id);
  };
  is_another([](std::vector<Prelude>& preludes) { preludes[0].name = "c.h"; });
  is_another([](std::vector<Prelude>& preludes) { preludes[1].text += " "; });
  is_another([](std::vector<Prelude>& preludes) { std::swap(preludes[0], preludes[1]); });
  is_another([](std::vector<Prelude>& preludes) { preludes.pop_back(); });
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
  refused([](SourceProgram& program) { program.preludes = {{"a/b.h", "", ""}}; });
  refused([](SourceProgram& program) { program.preludes = {{"", "", ""}}; });
  refused([](SourceProgram& program) { program.preludes = {{"a.h", std::string(1, '\0'), ""}}; });
}

TEST_CASE("of sources that are linked names, texts, kernels, headers and their order are identity") {
  const auto linked = [](const auto& change) {
    SourceProgram program = a_program();
    SourceProgram first = source("first", "// 1");
    first.kernels = {"k"};
    first.headers = {{"h", ""}};
    program.sources = {first, source("second", "// 2")};
    program.libraries = {"cudadevrt", "mine.fatbin"};
    change(program);
    return id_of(program);
  };
  const KernelId id = linked([](SourceProgram&) {});
  CHECK(linked([](SourceProgram& program) { program.sources[0].folder = "/x"; }) == id);
  CHECK_FALSE(linked([](SourceProgram& program) { program.sources[0].name = "x"; }) == id);
  CHECK_FALSE(linked([](SourceProgram& program) { program.sources[1].text += " "; }) == id);
  CHECK_FALSE(linked([](SourceProgram& program) { program.sources[0].kernels = {"q"}; }) == id);
  CHECK_FALSE(linked([](SourceProgram& program) { program.sources[0].headers["h"] = " "; }) == id);
  CHECK_FALSE(linked([](SourceProgram& program) { std::swap(program.sources[0], program.sources[1]); }) ==
              id);
  CHECK_FALSE(linked([](SourceProgram& program) { program.libraries.pop_back(); }) == id);
}

TEST_CASE("what is linked is made for that, whether it is said or not") {
  SourceProgram program = a_program();
  program.libraries = {"cudadevrt"};
  const KernelId unsaid = id_of(program);
  program.flags.emplace_back("-rdc=true");
  CHECK(id_of(program) == unsaid);
  program.flags = {"-DN=4", "-dlto"};
  CHECK((*(*program.as_template())->resolve({})).to_string() == "axpy -DN=4 --dlink-time-opt");
  program.sources = {source("more", "// more")};
  const auto made = *program.as_template();
  REQUIRE(made->linked_sources().size() == 1);
  CHECK(made->linked_sources()[0]->name() == "more");
  CHECK(made->libraries() == std::vector<std::string>{"cudadevrt"});
}

TEST_CASE("sources and libraries that cannot be linked are refused by name") {
  const auto refused = [](const char* word, const auto& change) {
    SourceProgram program = a_program();
    program.sources = {source("more", "// more")};
    change(program);
    const auto made = program.as_template();
    REQUIRE_FALSE(made);
    CHECK(made.error().code == ErrorCode::invalid_argument);
    CHECK_MESSAGE(made.error().message.find(word) != std::string::npos, made.error().message);
  };
  refused("called 'axpy'", [](SourceProgram& program) { program.sources[0].name = "axpy"; });
  refused("a/b", [](SourceProgram& program) { program.sources[0].name = "a/b"; });
  refused("'more'", [](SourceProgram& program) { program.sources[0].flags = {"-DA"}; });
  refused("'more'", [](SourceProgram& program) { program.sources[0].libraries = {"m"}; });
  refused("'more'", [](SourceProgram& program) { program.sources[0].preludes = {{"a.h", "", ""}}; });
  refused("'more'", [](SourceProgram& program) { program.sources[0].sources = {source("x", "")}; });
  refused("axpy<float>", [](SourceProgram& program) { program.sources[0].kernels = {"axpy<float>"}; });
  refused("with its folder", [](SourceProgram& program) { program.libraries = {"/usr/lib/libm.a"}; });
  refused("named twice", [](SourceProgram& program) { program.libraries = {"m", "m"}; });
  refused("no library", [](SourceProgram& program) { program.libraries = {""}; });
}
