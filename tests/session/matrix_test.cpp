// SPDX-License-Identifier: Apache-2.0
#include "support/text.hpp"

#include <cubinet/session/matrix.hpp>

#include <doctest/doctest.h>

#include <set>
#include <sstream>

using namespace cubinet;
using test::contains;

namespace {

std::string refusal(std::string_view text) {
  const auto parsed = parse_matrix(text, "m.json");
  REQUIRE_FALSE(parsed);
  CHECK(parsed.error().code == ErrorCode::invalid_argument);
  CHECK(contains(parsed.error().message, "m.json"));
  return parsed.error().message;
}

Result<MatrixExpansion> expand(std::string_view text) {
  const auto catalog = TemplateCatalog::builtin();
  REQUIRE(catalog);
  CUBINET_TRY_ASSIGN(const auto elements, parse_matrix(text, "m.json"));
  return expand_matrix(elements, *catalog);
}

}  // namespace

TEST_CASE("a matrix is the product of its lists") {
  const auto expansion = expand(R"({"kernels": [{"template": "rms_norm",
      "parameters": {"hidden_size": [64, 128, 256], "residual_add": [true, false], "dtype": "fp16"},
      "targets": ["sm_80", "sm_90a"]}]})");
  REQUIRE(expansion);
  CHECK(expansion->kernels.size() == 12);
  CHECK(expansion->refused.empty());
  CHECK(expansion->kernels.front().given.to_string() ==
        "rms_norm(dtype=fp16, hidden_size=64, residual_add=true)");
  CHECK(expansion->kernels.front().target.to_string() == "sm_80");
}

TEST_CASE("a kernel that several combinations stand for is built once") {
  const auto expansion = expand(R"({"kernels": [
      {"template": "rms_norm", "parameters": {"hidden_size": [64, 64]}, "targets": ["sm_80", "sm_80"]},
      {"template": "rms_norm", "parameters": {"hidden_size": [64], "dtype": ["bf16"]}, "targets": ["sm_80"]}]})");
  REQUIRE(expansion);
  CHECK(expansion->kernels.size() == 1);
}

TEST_CASE("combinations that cannot be are refused by name, the others stand") {
  const auto expansion = expand(R"({"kernels": [{"template": "attention_decode",
      "parameters": {"head_dim_qk": [128, 256], "head_dim_v": [128, 256]}, "targets": ["sm_90a", "sm_120f"]},
      {"template": "rms_norm", "parameters": {"hidden_size": [64, 65]}, "targets": ["sm_75", "sm_80"]}]})");
  REQUIRE(expansion);
  bool shared_memory = false;
  for (const PrebuildResult::Failure& refused : expansion->refused) {
    shared_memory = shared_memory || (refused.kernel.target.to_string() == "sm_120f" &&
                                      contains(refused.error.message, "shared memory") &&
                                      contains(refused.error.message, "101376"));
  }
  CHECK(shared_memory);
  CHECK(expansion->kernels.size() + expansion->refused.size() == 12);
  CHECK(expansion->refused.size() >= 4);
}

TEST_CASE("an unknown template or parameter is an error of the matrix") {
  const auto unknown = expand(R"({"kernels": [{"template": "nothing", "targets": ["sm_80"]}]})");
  REQUIRE_FALSE(unknown);
  CHECK(contains(unknown.error().message, "nothing"));
  const auto parameter = expand(
      R"({"kernels": [{"template": "rms_norm", "parameters": {"hiden_size": [64]}, "targets": ["sm_80"]}]})");
  REQUIRE_FALSE(parameter);
  CHECK(contains(parameter.error().to_line(), "did you mean hidden_size?"));
}

TEST_CASE("text that is not JSON is refused with its line") {
  CHECK(contains(refusal(""), "m.json:1:"));
  const std::string message = refusal("{\"kernels\": [\n  {\"template\": }\n]}");
  CHECK(contains(message, "m.json:2:"));
  CHECK_FALSE(contains(message, "json.exception"));
  refusal("\xff\xfe\x00");
  refusal(std::string(100'000, '['));
  refusal(R"({"kernels": []} trailing)");
  refusal(R"({"kernels": [1e999]})");
}

TEST_CASE("a matrix of another shape is refused with the place") {
  CHECK(contains(refusal("[]"), "object"));
  CHECK(contains(refusal("null"), "object"));
  CHECK(contains(refusal("{}"), "'kernels'"));
  CHECK(contains(refusal(R"({"kernels": []})"), "empty"));
  CHECK(contains(refusal(R"({"kernels": {}})"), "no list"));
  CHECK(contains(refusal(R"({"kernels": [{"template": "t", "targets": ["sm_80"]}], "more": 1})"), "more"));
  CHECK(contains(refusal(R"({"kernels": [7]})"), "kernels[0]"));
  CHECK(contains(refusal(R"({"kernels": [{"targets": ["sm_80"]}]})"), "'template'"));
  CHECK(
      contains(refusal(R"({"kernels": [{"template": 7, "targets": ["sm_80"]}]})"), "kernels[0]: 'template'"));
  CHECK(contains(refusal(R"({"kernels": [{"template": "t"}]})"), "'targets'"));
  CHECK(contains(refusal(R"({"kernels": [{"template": "t", "targets": []}]})"), "kernels[0].targets"));
  CHECK(contains(refusal(R"({"kernels": [{"template": "t", "targets": [90]}]})"), "not a string"));
  CHECK(contains(refusal(R"({"kernels": [{"template": "t", "targets": ["sm_101a"]}]})"), "sm_110"));
  CHECK(contains(refusal(R"({"kernels": [{"template": "t", "parameter": {}, "targets": ["sm_80"]}]})"),
                 "parameter"));
}

TEST_CASE("values that are no flag, number, text or list of numbers are refused with the place") {
  for (const char* value : {"null", "{}", "[]", "[[[64]]]", "[[64, true]]", "18446744073709551615"}) {
    CAPTURE(value);
    const std::string message =
        refusal(std::string(R"({"kernels": [{"template": "t", "parameters": {"p": )") + value +
                R"(}, "targets": ["sm_80"]}]})");
    CHECK(contains(message, "kernels[0].parameters.p"));
  }
}

TEST_CASE("a name that comes twice in one object is refused") {
  CHECK(contains(refusal(R"({"kernels": [{"template": "a", "template": "b", "targets": ["sm_80"]}]})"),
                 "'template' is repeated"));
  CHECK(contains(
      refusal(R"({"kernels": [{"template": "a", "parameters": {"p": 1, "p": 2}, "targets": ["sm_80"]}]})"),
      "'p' is repeated"));
}

TEST_CASE("a matrix that stands for too much is refused before it is expanded") {
  std::ostringstream values;
  for (int i = 0; i < 400; ++i)
    values << (i == 0 ? "" : ",") << i;
  const std::string list = "[" + values.str() + "]";
  const auto expansion = expand(R"({"kernels": [{"template": "rms_norm", "parameters": {"hidden_size": )" +
                                list + R"(, "dtype": )" + list + R"(}, "targets": ["sm_80"]}]})");
  REQUIRE_FALSE(expansion);
  CHECK(contains(expansion.error().message, "100000"));
}

TEST_CASE("a value of any depth is refused without its text") {
  std::string lists(60'000, '[');
  lists.append(60'000, ']');
  std::string objects;
  for (int i = 0; i < 60'000; ++i)
    objects += "{\"a\":";
  objects += "1";
  objects.append(60'000, '}');
  for (const std::string& deep : {lists, objects}) {
    CHECK(contains(refusal(R"({"kernels": [{"template": "t", "parameters": {"p": [)" + deep +
                           R"(]}, "targets": ["sm_80"]}]})"),
                   "nested too deeply"));
    refusal(deep);
    refusal(R"({"kernels": )" + deep + "}");
    refusal(R"({"kernels": [{"template": )" + deep + "}]}");
    refusal(R"({"kernels": [{"template": "t", "targets": )" + deep + "}]}");
  }
}

TEST_CASE("a value may be a number of any kind, and a list stands in a list") {
  auto catalog = TemplateCatalog::builtin();
  REQUIRE(catalog);
  const auto blur =
      KernelTemplate::parse(R"(/* cubinet-template {"name": "blur", "interface": 1, "parameters": [
      {"name": "taps", "type": "int[]"}, {"name": "scale", "type": "float"}, {"name": "op", "type": "type"}],
      "kernels": [{"name": "blur", "threads": 32}]} */ taps scale op)",
                            "blur.cu");
  REQUIRE(blur);
  REQUIRE(catalog->add(*blur));
  const auto elements =
      parse_matrix(R"({"kernels": [{"template": "blur", "targets": ["sm_80"], "parameters": {
      "taps": [[1, 2, 3], [4]], "scale": [1, 0.1, 1e-1, 1.5], "op": ["A< int >", "A<int>"]}}]})",
                   "m.json");
  REQUIRE(elements);
  const auto expansion = expand_matrix(*elements, *catalog);
  REQUIRE(expansion);
  CHECK(expansion->refused.empty());
  CHECK(expansion->kernels.size() == 6);
  CHECK(expansion->kernels.back().spec.to_string() == "blur(op=A<int>, scale=1.5, taps=4)");
}

TEST_CASE("a part of a matrix is written as two numbers") {
  const auto part = MatrixShard::parse("2/8");
  REQUIRE(part);
  CHECK(part->to_string() == "2/8");
  for (const char* text : {"0/3", "4/3", "1", "1/", "/3", "1/0", "1/3/3", "-1/3", "1/100001", ""}) {
    CAPTURE(text);
    CHECK_FALSE(MatrixShard::parse(text));
  }
}

TEST_CASE("the parts of a matrix are the same in any order of it, and together they are all of it") {
  const auto keys_of = [](const char* matrix, MatrixShard shard) {
    auto expansion = expand(matrix);
    REQUIRE(expansion);
    std::set<std::string> keys;
    for (const MatrixKernel& kernel : take_shard(std::move(expansion->kernels), shard))
      keys.insert(kernel.identity.key().to_string());
    return keys;
  };
  const char* const matrix = R"({"kernels": [{"template": "rms_norm",
      "parameters": {"hidden_size": [256, 512]}, "targets": ["sm_80", "sm_90a"]}]})";
  const char* const turned = R"({"kernels": [{"template": "rms_norm",
      "parameters": {"hidden_size": [512, 256]}, "targets": ["sm_90a", "sm_80"]}]})";
  std::set<std::string> all;
  for (const std::uint64_t index : {1U, 2U, 3U}) {
    CHECK(keys_of(matrix, {index, 3}) == keys_of(turned, {index, 3}));
    all.merge(keys_of(matrix, {index, 3}));
  }
  CHECK(all.size() == 4);
}
