// SPDX-License-Identifier: Apache-2.0
#include "declaration_base.hpp"

#include <cubinet/kernel_templates/template_catalog.hpp>

#include <doctest/doctest.h>

#include <optional>
#include <string>

using namespace cubinet;

namespace {

const std::string kBase = R"({
  "parameters": [
    {"name": "a", "type": "int", "values": [1, 2], "default": 1, "summary": "first"},
    {"name": "b", "type": "int", "default_expression": "a * 2", "summary": "second"}],
  "constraints": [{"require": "a < b", "message": "a is too large"}],
  "row": {"stages": "a", "head_dim_qk": 64, "head_dim_v": 64}
})";

const std::string kSource = "// kernel\n";

// Parses a declaration beside its source. The base is stored in base.json.
Result<std::shared_ptr<const KernelTemplate>> parse(const std::string& declaration,
                                                    const std::string& base = kBase) {
  return KernelTemplate::parse(kSource, "t.cubinet.json", "/f", declaration,
                               [base](const std::string& name) -> Result<std::string> {
                                 if (name == "base.json") return base;
                                 return Error{ErrorCode::not_found, "it does not exist"};
                               });
}

std::string declared(const std::string& more) {
  return "{\"name\": \"t\", \"interface\": 1, \"base\": \"base.json\",\n" + more +
         "\n\"kernels\": [{\"name\": \"k\", \"threads\": 32}]}";
}

std::string message(const std::string& declaration, const std::string& base = kBase) {
  const auto parsed = parse(declaration, base);
  REQUIRE_FALSE(parsed);
  return parsed.error().message;
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a declaration has the parameters, constraints and row of its base") {
  const auto parsed = parse(declared(""));
  REQUIRE_MESSAGE(parsed, (parsed ? "" : parsed.error().message));
  const KernelTemplate& made = **parsed;
  REQUIRE(made.parameters().size() == 2);
  CHECK(made.parameters()[0].name == "a");
  CHECK(made.constraints() == std::vector<std::string>{"a is too large"});
  CHECK(made.base().name == "base.json");
  CHECK(made.base().text == kBase);
  const auto resolved = made.resolve(KernelSpec{"t", {}}.set("a", 2));
  REQUIRE(resolved);
  CHECK(resolved->parameters.at("b") == ParameterValue(std::int64_t{4}));
  const auto row = made.row(*resolved);
  REQUIRE(row);
  CHECK((*row)->traits.stages == 2);
  CHECK((*row)->selector.head_dim_qk == 64);
}

TEST_CASE("a declaration replaces members of parameters and cells of the row, and adds its own") {
  const auto parsed = parse(declared(
      R"("parameters": [{"name": "c", "type": "bool", "default": true}, {"name": "b", "default": 8},
      {"name": "a", "values": [3], "default": 3}], "constraints": [{"require": "c", "message": "c is false"}],
      "row": {"head_dim_qk": "b * 16"},)"));
  REQUIRE_MESSAGE(parsed, (parsed ? "" : parsed.error().message));
  const KernelTemplate& made = **parsed;
  REQUIRE(made.parameters().size() == 3);
  CHECK(made.parameters()[0].name == "a");  // in the order of the base, the others after it
  CHECK(made.parameters()[0].summary == "first");
  CHECK(made.parameters()[0].values == std::vector<ParameterValue>{ParameterValue(std::int64_t{3})});
  CHECK(made.parameters()[1].summary == "second");
  CHECK(made.parameters()[1].default_expression.empty());  // one default replaces the other kind
  CHECK(made.parameters()[2].name == "c");
  CHECK(made.constraints() == std::vector<std::string>{"c is false", "a is too large"});
  const auto resolved = made.resolve(KernelSpec{"t", {}}.set("a", 3));
  REQUIRE(resolved);
  const auto row = made.row(*resolved);
  REQUIRE(row);
  CHECK((*row)->traits.stages == 3);
  CHECK((*row)->selector.head_dim_qk == 128);
  // The default of the base is none of the values that replace its own.
  CHECK(holds(message(declared(R"("parameters": [{"name": "a", "values": [3], "default": 1}],)")), "'a'"));
}

TEST_CASE("an error of a base names the file and line of the base") {
  CHECK(holds(message(declared(""), "{\n\n\"parameters\": 1}"), "base.json:3: the base: 'parameters'"));
  CHECK(holds(message(declared(""), "{\n\"kernels\": []}"), "base.json:2: "));
  CHECK(holds(message(declared(""), "{\n\"base\": \"other.json\"}"), "base.json:2: "));
  CHECK(holds(message(declared(""), "{\n}}"), "base.json:2: "));
  CHECK(holds(message(declared(""), "{\n\n\"row\": 4}"), "base.json:3: "));
  CHECK(holds(message(declared(""), "[]"), "base.json:1: "));
  CHECK(holds(message(declared(""), "{\"parameters\": [\n{\"name\": \"a\", \"type\": \"in\"}]}"),
              "base.json:2: "));
  CHECK(holds(message(declared(""), "{\"row\": {\n\"no_column\": 1}}"), "base.json:2: "));
  // An error of the declaration itself names that.
  CHECK(holds(message(declared("\n\"parameters\": [{\"name\": \"a\", \"type\": \"in\"}],")),
              "t.cubinet.json:3: "));
  CHECK(
      holds(message(declared("\"parameters\": [{\"name\": \"a\"},\n{\"name\": \"a\", \"type\": \"int\"}],")),
            "t.cubinet.json:3: "));
}

TEST_CASE("a base is a JSON file beside the declaration that can be read") {
  for (const char* name : {"../base.json", "/base.json", "base", "base.cu", ".json", ""}) {
    const std::string text =
        std::string(R"({"name": "t", "interface": 1, "base": ")") + name + R"(", "kernels": []})";
    CHECK(holds(message(text), "'base': '"));
  }
  CHECK(holds(message(R"({"name": "t", "interface": 1, "base": 4})"), "'base' is no string"));
  CHECK(holds(message(R"({"name": "t", "interface": 1, "base": "other.json"})"),
              "the base 'other.json': it does not exist"));
  CHECK(holds(message(declared(""), std::string("{\0}", 3)), "NUL"));
  const auto unread = KernelTemplate::parse(kSource, "t.cubinet.json", "", declared(""));
  REQUIRE_FALSE(unread);
  CHECK(holds(unread.error().message, "`read_source` was not given"));
}

TEST_CASE("the templates of decode attention share one base") {
  const auto catalog = TemplateCatalog::builtin();
  REQUIRE(catalog);
  std::size_t extended = 0;
  for (const auto& kernel_template : catalog->list())
    if (kernel_template->base().name == "attention_decode.base.json") ++extended;
  CHECK(extended == 6);
}

TEST_CASE("values of every type are copied with their lines") {
  const std::string text =
      "{\"a\": null,\n\"b\": [true, -3,\n18446744073709551615, 0.5], \"c\": {\"d\": \"text\"}}";
  const auto read = parse_json(text);
  REQUIRE(read);
  const auto none = parse_json("{}");
  REQUIRE(none);
  const auto made = extended_declaration(*read, *none);
  REQUIRE(made);
  CHECK(made->find("a")->literal() == "null");
  const JsonValue::List& items = made->find("b")->items();
  REQUIRE(items.size() == 4);
  CHECK(items[0].flag());
  CHECK(items[1].integer() == -3);
  CHECK(items[2].literal() == "18446744073709551615");
  CHECK(items[2].line() == 3);
  CHECK(items[3].number() == 0.5);
  CHECK(made->find("c")->text_of("d") == "text");
}
