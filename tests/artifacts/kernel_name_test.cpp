// SPDX-License-Identifier: Apache-2.0
#include <cubinet/artifacts/kernel_name.hpp>
#include <cubinet/kernel_table/column.hpp>

#include <doctest/doctest.h>

using namespace cubinet;

namespace {

struct Change {
  const char* column;
  std::int64_t value;
};

KernelRow row_of(const char* name, std::initializer_list<Change> changes, const char* target = "sm_100f") {
  KernelRow row = blank_row();
  row.function_name = name;
  row.target = *SmTarget::parse(target);
  for (const Change& change : changes) {
    const Column* column = find_column(change.column);
    REQUIRE_MESSAGE(column != nullptr, change.column);
    column->set(row, change.value);
  }
  return row;
}

KernelRow mla_row() {
  return row_of(
      "fmhaSm100fKernel_"
      "QkvE4m3OBfloat16HQk576HV512HVPerCta128PagedKvDenseStaticTokenSparseP1MultiCtasKvVarSeq"
      "Q8Kv128StaticSwapsAbForGen",
      {{"data_type_q", 5},
       {"data_type_k", 5},
       {"data_type_v", 5},
       {"data_type_o", 1},
       {"tile_size_q", 8},
       {"tile_size_kv", 128},
       {"head_dim_qk", 576},
       {"head_dim_v", 512},
       {"head_dim_per_cta_v", 128},
       {"qkv_layout", 2},
       {"mask", 0},
       {"kernel_type", 2},
       {"tile_scheduler", 0},
       {"multi_ctas_kv_mode", 1},
       {"sparse", 1},
       {"tokens_per_page", 1},
       {"step_q", 8},
       {"step_kv", 256}});
}

KernelRow sage_row() {
  return row_of(
      "fmhaSm103aKernel_QkInt8VE4m3OFp16H64SeparateQkvSlidingOrChunkedCausalVarSeqSkipsSoftmaxQ128Kv64SageQ1"
      "SageK16SageV1PersistentContext",
      {{"data_type_q", 3},
       {"data_type_k", 3},
       {"data_type_v", 5},
       {"data_type_o", 0},
       {"tile_size_q", 128},
       {"tile_size_kv", 64},
       {"head_dim_qk", 64},
       {"head_dim_v", 64},
       {"head_dim_per_cta_v", 64},
       {"qkv_layout", 0},
       {"mask", 2},
       {"kernel_type", 0},
       {"tile_scheduler", 1},
       {"multi_ctas_kv_mode", 0},
       {"sage_block_q", 1},
       {"sage_block_k", 16},
       {"sage_block_v", 1},
       {"skips_softmax", 1},
       {"tokens_per_page", 0}},
      "sm_103a");
}

KernelRow two_cta_row() {
  return row_of(
      "fmhaSm100fKernel_QE4m3KvE2m1OE4m3HQk576HV512HVPerCta256PagedKvCausalPagedMultiCtasKvGmemSepVarSeq"
      "Q64Kv256Static2CtaKeepsAbForGen",
      {{"data_type_q", 5},
       {"data_type_k", 7},
       {"data_type_v", 7},
       {"data_type_o", 5},
       {"tile_size_q", 64},
       {"tile_size_kv", 128},
       {"head_dim_qk", 576},
       {"head_dim_v", 512},
       {"head_dim_per_cta_v", 256},
       {"qkv_layout", 2},
       {"mask", 1},
       {"kernel_type", 3},
       {"multi_ctas_kv_mode", 2},
       {"two_cta", 1},
       {"tokens_per_page", 128},
       {"dynamic_page", 1},
       {"step_kv", 256}});
}

}  // namespace

TEST_CASE("names that say what their rows say contradict nothing") {
  for (const KernelRow& row : {mla_row(), sage_row(), two_cta_row()}) {
    const NameCheck check = check_kernel_name(row);
    CHECK(check.understood);
    CHECK_MESSAGE(!check.contradiction, check.contradiction.value_or(""));
  }
}

TEST_CASE("every column that the name states is compared") {
  const std::vector<Change> changes = {
      {"data_type_q", 1},    {"data_type_k", 0},   {"data_type_v", 0},        {"data_type_o", 3},
      {"tile_size_q", 16},   {"head_dim_qk", 128}, {"head_dim_v", 128},       {"qkv_layout", 1},
      {"mask", 3},           {"kernel_type", 4},   {"multi_ctas_kv_mode", 3}, {"sparse", 2},
      {"skips_softmax", -1}, {"two_cta", -1},      {"tile_scheduler", -1},    {"sage_block_k", 4},
      {"sage_block_p", 4}};
  for (const KernelRow& good : {mla_row(), sage_row(), two_cta_row()}) {
    for (const Change& change : changes) {
      KernelRow row = good;
      const Column* column = find_column(change.column);
      REQUIRE_MESSAGE(column != nullptr, change.column);
      column->set(row, change.value >= 0 ? change.value : 1 - column->get(row));
      CAPTURE(change.column);
      CHECK(check_kernel_name(row).contradiction);
    }
    for (const char* target : {"sm_100", "sm_100a", "sm_103f", "sm_90a", "sm_120f"}) {
      KernelRow row = good;
      row.target = *SmTarget::parse(target);
      CHECK(check_kernel_name(row).contradiction);
    }
  }
  KernelRow row = mla_row();
  row.selector.head_dim_per_cta_v = 512;
  CHECK(check_kernel_name(row).contradiction.value() == "its name says head dim of V a CTA 128, the row 512");
  row = mla_row();
  row.selector.tokens_per_page = 16;
  CHECK(check_kernel_name(row).contradiction);
  row = two_cta_row();
  row.selector.dynamic_page = false;
  CHECK(check_kernel_name(row).contradiction);
}

TEST_CASE("the differences that published names are known for are none") {
  KernelRow row = mla_row();
  row.selector.mask = AttentionMask::causal;  // generation kernels keep the word Dense
  CHECK_FALSE(check_kernel_name(row).contradiction);
  row.selector.mask = AttentionMask::custom;
  CHECK(check_kernel_name(row).contradiction);
  row = two_cta_row();  // the number after Kv is the step here
  row.traits.step_kv = 128;
  CHECK(check_kernel_name(row).contradiction);
  row = mla_row();  // MultiCtasKv alone is older than the word for the separate reduction
  row.selector.multi_ctas_kv_mode = MultiCtasKvMode::gmem_separate;
  CHECK_FALSE(check_kernel_name(row).contradiction);
  row = two_cta_row();  // older names of such rows have no word for the page
  const std::size_t at = row.function_name.find("CausalPaged");
  row.function_name.erase(at + 6, 5);
  CHECK(check_kernel_name(row).understood);
  CHECK_FALSE(check_kernel_name(row).contradiction);
}

TEST_CASE("a name of another grammar is not compared, whatever it is") {
  const KernelRow good = mla_row();
  for (std::size_t length = 0; length < good.function_name.size(); ++length) {
    KernelRow row = good;
    row.function_name.resize(length);
    row.selector.head_dim_qk = 8;
    CHECK_FALSE(check_kernel_name(row).understood);
    CHECK_FALSE(check_kernel_name(row).contradiction);
  }
  for (const char* name :
       {"gemm_x", "fmhaSm99999999999999999999Kernel_", "fmhaSm100fKernel_Qkv", "attention_decode"}) {
    KernelRow row = good;
    row.function_name = name;
    CHECK_FALSE(check_kernel_name(row).understood);
  }
  KernelRow row = good;
  row.function_name += "New";
  CHECK_FALSE(check_kernel_name(row).understood);
}
