// SPDX-License-Identifier: Apache-2.0
#include <cubinet/kernel_table/metadata_header.hpp>

#include <doctest/doctest.h>

#include <random>
#include <string>

namespace cubinet {
namespace {

const std::string kDigest(64, 'a');

// Returns a header in the published form with the given columns and rows.
std::string header(const std::string& columns, const std::string& rows) {
  return "// generated\n#pragma once\nnamespace tensorrt_llm\n{\nnamespace kernels\n{\n// clang-format off\n"
         "struct TllmGenFmhaKernelMetaInfo\n{\n" +
         columns + "};\n\nstatic const TllmGenFmhaKernelMetaInfo sInfos[] = {\n" + rows +
         "};\n// clang-format on\n}\n}\n";
}

const std::string kFewColumns =
    "Data_type mDataTypeQ;\nData_type mDataTypeKv;\nData_type mDataTypeO;\nint mTileSizeQ;\nint mHeadDimQk;\n"
    "int mHeadDimV;\nint mSM;\nconst char* mFuncName;\nint mSharedMemBytes;\nint mKernelType;\nint "
    "mQkvLayout;\n"
    "int mNumTokensPerPage;\nint mMultiCtasKvMode;\nconst char* sha256;\n";

std::string few(const std::string& sm, const std::string& name, int kernel_type, int page, int mode) {
  return "{ DATA_TYPE_BF16, DATA_TYPE_E4M3, DATA_TYPE_BF16, 8, 128, 128, " + sm + ", \"" + name +
         "\", 50000, " + std::to_string(kernel_type) + ", 2, " + std::to_string(page) + ", " +
         std::to_string(mode) + ", \"" + kDigest + "\"},\n";
}

TEST_CASE("columns are read in the order in which the header declares them") {
  const auto read = read_metadata_header(header(
      "const char* sha256;\nbool mFuture;\nint mHeadDimV;\nint mHeadDimQk;\nint mTileSizeQ;\nint "
      "mKernelType;\n"
      "Data_type mDataTypeO;\nData_type mDataTypeV;\nData_type mDataTypeK;\nData_type mDataTypeQ;\nint mSM;\n"
      "const char* mFuncName;\nint mStepKv;\nint mMaskType;\nbool m2CtaMma;\nint mThreadsPerCTA;\n",
      "{\"" + kDigest +
          "\", true, 64, 192, 16, 2, DATA_TYPE_E2M1, DATA_TYPE_E4M3, DATA_TYPE_INT8, "
          "DATA_TYPE_FP16, kSM_103, \"f\", 256, 1, true, 384},\n"));
  REQUIRE(read);
  REQUIRE(read->rows.size() == 1);
  CHECK(read->problem_count == 0);
  CHECK(read->columns.size() == 16);
  const KernelRow& row = read->rows[0];
  CHECK(row.selector.head_dim_v == 64);
  CHECK(row.selector.head_dim_qk == 192);
  CHECK(row.selector.tile_size_q == 16);
  CHECK(row.selector.data_type_o == DataType::e2m1);
  CHECK(row.selector.data_type_v == DataType::e4m3);
  CHECK(row.selector.data_type_k == DataType::int8);
  CHECK(row.selector.data_type_q == DataType::fp16);
  CHECK(row.target == SmTarget{10, 3, TargetKind::specific});
  CHECK(row.traits.step_kv == 256);
  CHECK(row.selector.mask == AttentionMask::causal);
  CHECK(row.selector.two_cta);
  CHECK(row.threads == 384);
  CHECK(row.function_name == "f");
  CHECK(row.implementation == "trtllm-gen");
  CHECK(row.digest.to_hex() == kDigest);
  REQUIRE(row.extras.size() == 1);
  CHECK(row.extras[0] == ExtraColumn{"mFuture", "true"});
  CHECK_FALSE(row.understood());
}

TEST_CASE("missing columns have their stated defaults") {
  const auto read = read_metadata_header(
      header(kFewColumns, few("kSM_100f", "g", 2, 32, 1) + few("kSM_100", "c", 0, 0, 0)));
  REQUIRE(read);
  REQUIRE(read->rows.size() == 2);
  const KernelRow& generation = read->rows[0];
  CHECK(generation.selector.data_type_k == DataType::e4m3);
  CHECK(generation.selector.data_type_v == DataType::e4m3);
  CHECK(generation.traits.step_q == 8);
  CHECK(generation.traits.step_kv == 128);
  CHECK(generation.traits.groups_heads_q);
  CHECK_FALSE(generation.selector.groups_tokens_heads_q);
  CHECK(generation.selector.head_dim_per_cta_v == 128);
  CHECK(generation.selector.mask == AttentionMask::dense);
  CHECK(generation.threads == 512);
  CHECK(generation.target == SmTarget{10, 0, TargetKind::family});
  CHECK(generation.understood());
  CHECK_FALSE(read->rows[1].traits.groups_heads_q);
  CHECK(read->rows[1].target == SmTarget{10, 0, TargetKind::specific});
}

TEST_CASE("a page of 128 is any page unless the name says P128") {
  const auto read =
      read_metadata_header(header(kFewColumns, few("kSM_100f", "fmhaPagedKvDensePagedVarSeq", 2, 128, 0) +
                                                   few("kSM_100f", "fmhaPagedKvDenseP128VarSeq", 2, 128, 0) +
                                                   few("kSM_100f", "fmhaPagedKvDenseP64VarSeq", 2, 64, 0)));
  REQUIRE(read);
  CHECK(read->rows[0].selector.dynamic_page);
  CHECK_FALSE(read->rows[1].selector.dynamic_page);
  CHECK_FALSE(read->rows[2].selector.dynamic_page);
}

// The 27 columns of flashinfer-cubin 0.4.0, in its order.
const std::string kOlderColumns =
    "Data_type mDataTypeQ;\nData_type mDataTypeKv;\nData_type mDataTypeO;\nint mTileSizeQ;\nint "
    "mTileSizeKv;\n"
    "int mStepQ;\nint mStepKv;\nint mHeadDimPerCtaV;\nint mHeadDimQk;\nint mHeadDimV;\nint mSM;\n"
    "const unsigned char* mCubin;\nunsigned int mCubinSize;\nconst char* mFuncName;\nint mSharedMemBytes;\n"
    "int mThreadsPerCTA;\nint mQkvLayout;\nint mNumTokensPerPage;\nint mMaskType;\nint mKernelType;\n"
    "int mMaxNumHeadsQPerKvInCta;\nint mTileScheduler;\nint mMultiCtasKvMode;\nbool mGroupsHeadsQ;\n"
    "bool mReuseSmemKForV;\nbool m2CtaMma;\nconst char* sha256;\n";

std::string older(int tile_q, int kernel_type, int heads_in_cta) {
  return "{ DATA_TYPE_E4M3, DATA_TYPE_E4M3, DATA_TYPE_BF16, " + std::to_string(tile_q) +
         ", 128, 128, 128, 64, 64, 64, kSM_100f, nullptr, 0, \"f\", 50000, 512, 2, 16, 0, " +
         std::to_string(kernel_type) + ", " + std::to_string(heads_in_cta) +
         ", 0, 0, true, false, false, \"" + kDigest + "\"},\n";
}

TEST_CASE("the older column of heads in a CTA is understood where it says what tile and kernel type say") {
  const auto read =
      read_metadata_header(header(kOlderColumns, older(16, 2, 16) + older(128, 3, 128) + older(128, 0, 1) +
                                                     older(16, 2, 8) + older(128, 0, 128)));
  REQUIRE(read);
  CHECK(read->columns.size() == 27);
  CHECK(read->problem_count == 0);
  REQUIRE(read->rows.size() == 5);
  for (std::size_t i = 0; i < 3; ++i)
    CHECK(read->rows[i].extras.empty());
  CHECK(read->rows[3].extras == std::vector<ExtraColumn>{{"mMaxNumHeadsQPerKvInCta", "8"}});
  CHECK(read->rows[4].extras == std::vector<ExtraColumn>{{"mMaxNumHeadsQPerKvInCta", "128"}});
}

TEST_CASE("the numbering of modes from before September 2025 is recognised") {
  const auto old =
      read_metadata_header(header(kFewColumns, few("kSM_100", "aMultiCtasKvCgaVarSeq", 2, 32, 2) +
                                                   few("kSM_100", "aMultiCtasKvVarSeq", 2, 32, 1)));
  REQUIRE(old);
  CHECK(old->rows[0].selector.multi_ctas_kv_mode == MultiCtasKvMode::cga);
  CHECK(old->rows[1].selector.multi_ctas_kv_mode == MultiCtasKvMode::gmem);
  const auto today =
      read_metadata_header(header(kFewColumns, few("kSM_100", "aMultiCtasKvCgaVarSeq", 2, 32, 3) +
                                                   few("kSM_100", "aMultiCtasKvVarSeq", 3, 32, 2)));
  REQUIRE(today);
  CHECK(today->rows[1].selector.multi_ctas_kv_mode == MultiCtasKvMode::gmem_separate);
}

TEST_CASE("a row that does not fit is a problem with its line, and the others are taken") {
  const auto read = read_metadata_header(
      header(kFewColumns, few("kSM_100", "good", 2, 32, 1) + "{ 1, 2 },\n" +
                              few("kSM_7", "no target", 2, 32, 1) + few("kSM_100", "bad page", 2, 33, 1) +
                              few("kSM_100", "bad mode", 2, 32, 9) + few("kSM_100", "good too", 2, 32, 1)));
  REQUIRE(read);
  CHECK(read->rows.size() == 2);
  CHECK(read->problem_count == 4);
  REQUIRE(read->problems.size() == 4);
  CHECK(read->problems[0].line == 28);
  CHECK(read->problems[0].reason.find("2 values for 14 columns") != std::string::npos);
  CHECK(read->problems[2].reason.find("tokens_per_page is 33") != std::string::npos);
}

TEST_CASE("a struct without a column that has no default is refused by name") {
  std::string columns = kFewColumns;
  columns.erase(columns.find("int mTileSizeQ;\n"), 16);
  const auto read = read_metadata_header(header(columns, few("kSM_100", "a", 2, 32, 1)));
  REQUIRE(!read);
  CHECK(read.error().code == ErrorCode::unsupported);
  CHECK(read.error().message.find("mTileSizeQ") != std::string::npos);
}

TEST_CASE("rows of GEMM headers are plain kernels") {
  const std::string text =
      "namespace gemm { static const gemm::GemmConfig list[] = {\n#ifndef EXCLUDE_SM_100\n"
      "{nullptr, 0, 128256, \"gemm_a\", 256, \"" +
      kDigest +
      "\", \"\", nullptr, { /* mBlockK */ 128\n, /* mX */ {ns::Y(0)}\n"
      " }, gemm::SmVersion::Sm100f},\n{nullptr, 0, 1, \"gemm_b\", 128, \"" +
      kDigest + "\", { 1 }, gemm::SmVersion::Sm103a},\n{nullptr, 0, 1, gemm_c, 128, \"" + kDigest +
      "\", { 1 }, gemm::SmVersion::Sm103a},\n#endif\n};\n}";
  const auto read = read_metadata_header(text);
  REQUIRE(read);
  CHECK(read->rows.empty());
  CHECK(read->problem_count == 1);
  REQUIRE(read->plain.size() == 2);
  CHECK(read->plain[0].function_name == "gemm_a");
  CHECK(read->plain[0].shared_bytes == 128256);
  CHECK(read->plain[0].threads == 256);
  CHECK(read->plain[0].target == SmTarget{10, 0, TargetKind::family});
  CHECK(read->plain[1].target == SmTarget{10, 3, TargetKind::specific});
}

TEST_CASE("targets of metadata are specific where a specific target exists") {
  CHECK(*target_of_metadata("kSM_100") == SmTarget{10, 0, TargetKind::specific});
  CHECK(*target_of_metadata("kSM_100f") == SmTarget{10, 0, TargetKind::family});
  CHECK(*target_of_metadata("10100") == SmTarget{10, 0, TargetKind::family});
  CHECK(*target_of_metadata("kSM_107") == SmTarget{10, 7, TargetKind::specific});
  CHECK(*target_of_metadata("kSM_90") == SmTarget{9, 0, TargetKind::specific});
  CHECK(*target_of_metadata("80") == SmTarget{8, 0, TargetKind::baseline});
  CHECK_FALSE(target_of_metadata("kSM_"));
  CHECK_FALSE(target_of_metadata("kSM_80f"));
  CHECK_FALSE(target_of_metadata("-100"));
  CHECK_FALSE(target_of_metadata(""));
}

TEST_CASE("a text that lists no kernel is an error") {
  CHECK(read_metadata_header("").error().code == ErrorCode::invalid_argument);
  CHECK(read_metadata_header("int x[] = {{1, 2}};").error().code == ErrorCode::invalid_argument);
  CHECK(read_metadata_header(header(kFewColumns, "{ \"open")).error().code == ErrorCode::corruption);
}

TEST_CASE("no text crashes the reader of headers") {
  const std::string good = header(kFewColumns, few("kSM_100", "a", 2, 32, 1) + few("kSM_103", "b", 0, 0, 0)) +
                           "T l[] = {{nullptr, 0, 1, \"g\", 128, \"" + kDigest +
                           "\", {1}, ns::SmVersion::Sm100f}};";
  for (std::size_t size = 0; size < good.size(); ++size)
    (void)read_metadata_header(std::string_view(good).substr(0, size));
  std::mt19937_64 random(8);
  constexpr std::string_view kChunks = "{}[]();,\"'\\/*#=\n 0a_";
  for (int i = 0; i < 4'000; ++i) {
    std::string text = good;
    for (int changes = 0; changes < 4; ++changes)
      text[random() % text.size()] =
          random() % 4 == 0 ? static_cast<char>(random()) : kChunks[random() % kChunks.size()];
    const auto read = read_metadata_header(text);
    if (!read) continue;
    for (const KernelRow& row : read->rows)
      CHECK(check_ranges(row));
  }
}

}  // namespace
}  // namespace cubinet
