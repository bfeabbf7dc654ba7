// SPDX-License-Identifier: Apache-2.0
#include "row_declaration.hpp"

#include <cubinet/kernel_table/row_codec.hpp>
#include <cubinet/kernel_templates/template_catalog.hpp>

#include <doctest/doctest.h>

using namespace cubinet;

namespace {

const ExpressionSymbols kRowSymbols = {{"dtype", {ExpressionType::text, true}},
                                       {"mask", {ExpressionType::text, false}},
                                       {"dim", {ExpressionType::integer, false}},
                                       {"packed", {ExpressionType::flag, false}}};

Result<RowDeclaration> read(const std::string& json) {
  return read_row(*parse_json(json), kRowSymbols);
}

void row_refused(const std::string& json, std::string_view reason) {
  const auto row = read(json);
  REQUIRE_MESSAGE(!row, json);
  CHECK(row.error().code == ErrorCode::invalid_argument);
  CHECK_MESSAGE(row.error().message.find(reason) != std::string::npos, row.error().message);
}

std::string a_template(const std::string& row) {
  return R"(/* cubinet-template {"name": "mine", "interface": 1,
    "parameters": [{"name": "dim", "type": "int", "minimum": 1, "maximum": 4096},
                   {"name": "dtype", "type": "dtype", "values": ["bf16", "int32"], "default": "bf16"}],
    "kernels": [{"name": "k", "threads": 64, "dynamic_shared_bytes": "dim * 2"}], "row": )" +
         row + "} */\n";
}

}  // namespace

TEST_CASE("expressions and constants of every kind give a row, and the rest has its defaults") {
  const auto declaration = read(R"({"head_dim_qk": "dim", "head_dim_v": "dim / 2", "data_type_q": "dtype",
      "data_type_o": "'fp32'", "mask": "packed ? 'custom' : mask", "kernel_type": "'keeps'",
      "groups_tokens_heads_q": "packed", "two_cta": true, "tile_size_q": 64, "tile_size_kv": 32, "stages": 3})");
  REQUIRE_MESSAGE(declaration.has_value(), declaration.error().to_line());
  const auto row = evaluate_row(*declaration, {{"dtype", std::string("e4m3")},
                                               {"mask", std::string("dense")},
                                               {"dim", std::int64_t{128}},
                                               {"packed", false}});
  REQUIRE_MESSAGE(row.has_value(), row.error().to_line());
  CHECK(row->selector.head_dim_qk == 128);
  CHECK(row->selector.head_dim_v == 64);
  CHECK(row->selector.head_dim_per_cta_v == 64);
  CHECK(row->selector.data_type_q == DataType::e4m3);
  CHECK(row->selector.data_type_o == DataType::fp32);
  CHECK(row->selector.mask == AttentionMask::dense);
  CHECK(row->selector.kernel_type == KernelType::keeps_mma_ab);
  CHECK_FALSE(row->selector.groups_tokens_heads_q);
  CHECK(row->selector.two_cta);
  CHECK(row->traits.step_q == 64);
  CHECK(row->traits.step_kv == 32);
  CHECK(row->traits.stages == 3);
  CHECK(row->traits.groups_heads_q);
}

TEST_CASE("a column that is not there, of another type or out of range is an error of the declaration") {
  row_refused(R"({"head_dim": 64})", "no column 'head_dim'; did you mean 'head_dim_v'");
  row_refused(R"({"threads": 64})", "first kernel");
  row_refused(R"({"shared_bytes": 64})", "first kernel");
  row_refused(R"({"function_name": "'k'"})", "no column 'function_name'");
  row_refused(R"({"head_dim_v": "packed"})", "'head_dim_v' has to be int");
  row_refused(R"({"head_dim_v": true})", "'head_dim_v' has to be int");
  row_refused(R"({"two_cta": "dim"})", "'two_cta' has to be");
  row_refused(R"({"two_cta": 1})", "'two_cta' has to be");
  row_refused(R"({"mask": "dim"})", "'mask' has to be");
  row_refused(R"({"mask": ["causal"]})", "'mask' is neither");
  row_refused(R"({"mask": "'causal_and_more'"})", "cannot be 'causal_and_more'");
  row_refused(R"({"data_type_q": "'float'"})", "cannot be 'float'");
  row_refused(R"({"tile_size_q": 70000})", "cannot be '70000'");
  row_refused(R"({"tile_size_q": -8})", "cannot be '-8'");
  row_refused(R"({"tile_size_q": "undeclared"})", "undeclared");
  row_refused(R"(["head_dim_v"])", "no JSON object");
  // Constants alone say all there is to say.
  row_refused(R"({"head_dim_qk": 64, "head_dim_v": 129})", "head_dim_v is 129");
}

TEST_CASE("a value that a specification brings out of range is an error of the specification that names it") {
  const auto row = R"({"head_dim_qk": "dim", "head_dim_v": 64, "data_type_q": "dtype", "step_kv": "dim * 64",
                       "kernel_type": "'keeps'"})";
  const auto mine = KernelTemplate::parse(a_template(row), "mine.cu");
  REQUIRE_MESSAGE(mine.has_value(), mine.error().to_line());
  const auto resolve = [&](int dim) { return (*mine)->resolve(KernelSpec{"mine", {}}.set("dim", dim)); };
  REQUIRE(resolve(64));
  const auto found = (*mine)->row(*resolve(64));
  REQUIRE(found);
  REQUIRE(*found);
  CHECK((*found)->implementation == "mine");
  CHECK((*found)->threads == 64);
  CHECK((*found)->shared_bytes == 128);
  CHECK((*found)->traits.step_kv == 4096);
  const auto odd = resolve(63);
  REQUIRE(!odd);
  CHECK(odd.error().code == ErrorCode::invalid_argument);
  CHECK(odd.error().message.find("template 'mine'") != std::string::npos);
  CHECK(odd.error().message.find("head_dim_qk is 63") != std::string::npos);
  CHECK(resolve(72).error().message.find("step_kv is 4608") != std::string::npos);
  CHECK_FALSE(KernelTemplate::parse(a_template(R"({"head_dim": 1})"), "mine.cu"));
}

TEST_CASE("a template without a row has none") {
  const auto catalog = *TemplateCatalog::builtin();
  const auto rms_norm = *catalog.find("rms_norm");
  const auto resolved = rms_norm->resolve(KernelSpec{"rms_norm", {}}.set("hidden_size", 4096));
  REQUIRE_MESSAGE(resolved.has_value(), resolved.error().to_line());
  CHECK_FALSE(*rms_norm->row(*resolved));
}

// Every combination of values that resolves has a row, and two specifications never share one.
TEST_CASE("the declared row of the decode template tells its kernels apart") {
  const auto catalog = *TemplateCatalog::builtin();
  const auto decode = *catalog.find("attention_decode");
  std::map<Bytes, KernelSpec> seen;
  for (const char* type : {"bf16", "fp16"}) {
    for (const int dim : {64, 128, 256}) {
      for (const int tile_q : {16, 32, 64}) {
        for (const int tile_kv : {16, 32, 64, 128}) {
          for (const int stages : {2, 3}) {
            for (const int page : {16, 128}) {
              for (const char* mask : {"causal", "dense", "custom"}) {
                for (const int flags : {0, 1, 2, 4, 7}) {
                  KernelSpec spec{"attention_decode", {}};
                  spec.set("dtype_q", type).set("dtype_kv", type).set("head_dim_qk", dim);
                  spec.set("head_dim_v", dim).set("tile_size_q", tile_q).set("tile_size_kv", tile_kv);
                  spec.set("stages", stages).set("page_size", page).set("mask", mask);
                  spec.set("sliding_window", (flags & 1) != 0).set("soft_cap", (flags & 2) != 0);
                  spec.set("separate_page_tables", (flags & 4) != 0);
                  const auto resolved = decode->resolve(spec);
                  if (!resolved) continue;
                  const auto row = decode->row(*resolved);
                  REQUIRE_MESSAGE(row.has_value(), row.error().to_line());
                  CHECK((*row)->selector.layout == QkvLayout::paged_kv);
                  CHECK((*row)->selector.tokens_per_page == static_cast<std::uint32_t>(page));
                  CHECK((*row)->selector.tile_size_kv == tile_kv);
                  CHECK((*row)->selector.multi_ctas_kv_mode == MultiCtasKvMode::gmem_separate);
                  CHECK(seen.emplace(encode_row(**row), *resolved).second);
                }
              }
            }
          }
        }
      }
    }
  }
  CHECK(seen.size() > 500);
}

TEST_CASE("the declared row of the wide template tells its kernels apart") {
  const auto catalog = *TemplateCatalog::builtin();
  const auto wide = *catalog.find("attention_wide");
  std::map<Bytes, KernelSpec> seen;
  for (const char* type : {"bf16", "e4m3"}) {
    for (const int dim : {512, 576}) {
      for (const int tile_q : {16, 32, 64}) {
        for (const int tile_kv : {16, 32, 64}) {
          for (const int stages : {2, 3}) {
            for (const char* mask : {"causal", "dense", "custom"}) {
              for (const int flags : {0, 1, 2, 4, 7}) {
                KernelSpec spec{"attention_wide", {}};
                spec.set("dtype_kv", type).set("head_dim_qk", dim).set("head_dim_v", 512).set("mask", mask);
                spec.set("tile_size_q", tile_q).set("tile_size_kv", tile_kv).set("stages", stages);
                spec.set("sliding_window", (flags & 1) != 0).set("soft_cap", (flags & 2) != 0);
                spec.set("separate_page_tables", (flags & 4) != 0);
                const auto resolved = wide->resolve(spec);
                if (!resolved) continue;
                const auto row = wide->row(*resolved);
                REQUIRE_MESSAGE(row.has_value(), row.error().to_line());
                CHECK((*row)->selector.head_dim_qk == dim);
                CHECK(seen.emplace(encode_row(**row), *resolved).second);
              }
            }
          }
        }
      }
    }
  }
  CHECK(seen.size() > 100);
}
