// SPDX-License-Identifier: Apache-2.0
#include "templates/prefill/prefill_maps.hpp"

#include "prefill_fixture.hpp"
#include "templates/prefill/prefill_parameters.hpp"

namespace cubinet {
namespace {

namespace prefill = test::prefill;

PrefillMaps prefill_maps_of(const AttentionProblem& problem, const AttentionTensors& tensors,
                            std::uint32_t tile_heads = 1) {
  PrefillBlock block;
  block.tile_heads = tile_heads;
  auto strides = prefill_parameters(problem);
  REQUIRE(strides);
  if (!tensors.k.is_contiguous()) strides->k_head_stride = tensors.k.strides[2];
  set_prefill_boxes(problem, {128, 128, 2}, *strides);
  return prefill_maps(problem, {128, 128, 2}, block, *strides, tensors);
}

// 4096 bytes a token and tensor: 32 query heads of 64 columns, 8 KV heads of 256 in K and V.
AttentionProblem small_heads() {
  AttentionProblem problem = prefill::prompts(2, 1000, 500);
  problem.head_dim_qk = problem.head_dim_v = 64;
  return problem;
}

constexpr std::uint64_t kRow = 64 * 2;  // bytes of a head

TEST_CASE("the map of Q has heads, tokens and sequences, and boxes of the heads that share a tile") {
  AttentionProblem problem = small_heads();
  AttentionTensors tensors;
  tensors.q = {0x1000, 10 * 32 * kRow};
  const TensorMapDescription map = prefill_maps_of(problem, tensors, 4).q;
  CHECK(map.address == 0x1000);
  CHECK(map.type == TensorMapDescription::Type::bf16);
  CHECK(map.swizzle == TensorMapDescription::Swizzle::bytes128);
  CHECK(map.sizes == std::array<std::uint64_t, 5>{64, 32, 500, 2, 1});
  CHECK(map.strides_bytes[0] == kRow);
  CHECK(map.strides_bytes[1] == 32 * kRow);
  CHECK(map.strides_bytes[2] == 500 * 32 * kRow);
  CHECK(map.box == std::array<std::uint32_t, 5>{64, 4, 16, 1, 1});  // the rows of one consumer
  CHECK(prefill_maps_of(problem, tensors, 7).q.box == std::array<std::uint32_t, 5>{64, 7, 18, 1, 1});
  problem.ragged_q = true;  // as many tokens as the tensor has
  problem.data_type_q = DataType::fp16;
  const TensorMapDescription ragged = prefill_maps_of(problem, tensors).q;
  CHECK(ragged.type == TensorMapDescription::Type::fp16);
  CHECK(ragged.sizes == std::array<std::uint64_t, 5>{64, 32, 10, 1, 1});
  CHECK(ragged.box == std::array<std::uint32_t, 5>{64, 1, 64, 1, 1});
}

TEST_CASE("the maps of K and V end with the pages, sequences or tokens that the tensors have") {
  AttentionProblem problem = small_heads();
  problem.tokens_per_page = 48;
  AttentionTensors tensors;
  tensors.k = {0x1000, 7 * 48 * 8 * kRow};
  tensors.v = {0x2000, 48 * 8 * kRow};
  const PrefillMaps paged = prefill_maps_of(problem, tensors);
  CHECK(paged.k.rank == 5);
  CHECK(paged.k.sizes == std::array<std::uint64_t, 5>{64, 8, 8, 6, 7});
  CHECK(paged.k.strides_bytes[0] == 8 * kRow);      // tokens of a group
  CHECK(paged.k.strides_bytes[1] == kRow);          // blocks of columns, one a head here
  CHECK(paged.k.strides_bytes[2] == 8 * 8 * kRow);  // groups
  CHECK(paged.k.strides_bytes[3] == 48 * 8 * kRow);
  CHECK(paged.k.box == std::array<std::uint32_t, 5>{64, 8, 1, 2, 1});
  CHECK(paged.v.sizes[4] == 1);
  problem.layout = QkvLayout::contiguous_kv;
  const PrefillMaps contiguous = prefill_maps_of(problem, tensors);
  CHECK(contiguous.k.sizes == std::array<std::uint64_t, 5>{64, 1000, 8, 2, 1});
  CHECK(contiguous.k.box[1] == 128);
  problem.layout = QkvLayout::separate_qkv;
  CHECK(prefill_maps_of(problem, tensors).k.sizes == std::array<std::uint64_t, 5>{64, 7 * 48, 8, 1, 1});
}

TEST_CASE("a box of pages has all columns, or a block where heads are not whole blocks apart") {
  AttentionProblem problem = small_heads();
  problem.head_dim_qk = problem.head_dim_v = 128;
  problem.kv_order = KvOrder::hnd;
  problem.tokens_per_page = 64;
  AttentionTensors tensors;
  tensors.k = {0x1000, 7 * 64 * 8 * 2 * kRow};
  tensors.v = tensors.k;
  const TensorMapDescription whole = prefill_maps_of(problem, tensors).k;
  CHECK(whole.sizes == std::array<std::uint64_t, 5>{64, 8, (7 * 64 + 1) * 2, 8, 7});
  CHECK(whole.box == std::array<std::uint32_t, 5>{64, 8, 2, 8, 1});
  tensors.k.strides = {8 * 64 * 136, 128, 64 * 136 - 8};
  const TensorMapDescription parts = prefill_maps_of(problem, tensors).k;
  CHECK(parts.sizes == std::array<std::uint64_t, 5>{128, 8, 8, 8, 6});
  CHECK(parts.box == std::array<std::uint32_t, 5>{64, 8, 1, 1, 1});
}

TEST_CASE("rows that end within a block have a box for each block, with all tokens of a page") {
  AttentionProblem problem = small_heads();
  problem.head_dim_qk = problem.head_dim_v = 80;
  constexpr std::uint64_t kPaddedRow = 80 * 2;
  problem.tokens_per_page = 48;
  AttentionTensors tensors;
  tensors.q = {0x1000, 1000 * 32 * kPaddedRow};
  tensors.k = tensors.v = {0x2000, 7 * 48 * 8 * kPaddedRow};
  const PrefillMaps maps = prefill_maps_of(problem, tensors, 4);
  CHECK(maps.q.sizes == std::array<std::uint64_t, 5>{80, 32, 500, 2, 1});
  CHECK(maps.q.box == std::array<std::uint32_t, 5>{64, 4, 16, 1, 1});
  CHECK(maps.k.sizes == std::array<std::uint64_t, 5>{80, 8, 8, 6, 7});  // columns after 80 are zeros
  CHECK(maps.k.strides_bytes[1] == kPaddedRow);
  CHECK(maps.k.box == std::array<std::uint32_t, 5>{64, 8, 1, 2, 1});
  problem.kv_order = KvOrder::hnd;  // heads are whole blocks apart, and their rows are not blocks
  CHECK(prefill_maps_of(problem, tensors, 4).k.sizes == maps.k.sizes);
  problem.layout = QkvLayout::contiguous_kv;
  const TensorMapDescription contiguous = prefill_maps_of(problem, tensors, 4).k;
  CHECK(contiguous.sizes == std::array<std::uint64_t, 5>{80, 1000, 8, 2, 1});
  CHECK(contiguous.box == std::array<std::uint32_t, 5>{64, 128, 1, 1, 1});
  for (const TensorMapDescription& map : {maps.q, maps.k, maps.v, contiguous})
    CHECK(check_tensor_map(map));
}

TEST_CASE("rows of e4m3 have boxes of 128 columns, which may be more than a head has") {
  AttentionProblem problem = small_heads();
  problem.data_type_q = problem.data_type_k = problem.data_type_v = DataType::e4m3;
  problem.tokens_per_page = 48;
  AttentionTensors tensors;
  tensors.q = {0x1000, 10 * 32 * 64};
  tensors.k = tensors.v = {0x2000, 7 * 48 * 8 * 64};
  const PrefillMaps narrow = prefill_maps_of(problem, tensors, 4);
  CHECK(narrow.q.type == TensorMapDescription::Type::uint8);
  CHECK(narrow.q.sizes == std::array<std::uint64_t, 5>{64, 32, 500, 2, 1});
  CHECK(narrow.q.strides_bytes[0] == 64);
  CHECK(narrow.q.box == std::array<std::uint32_t, 5>{128, 4, 16, 1, 1});
  // A block would have two heads, so the heads are a dimension, and a box still has 16 tokens.
  CHECK(narrow.k.sizes == std::array<std::uint64_t, 5>{64, 8, 8, 6, 7});
  CHECK(narrow.k.strides_bytes[1] == 64);
  CHECK(narrow.k.box == std::array<std::uint32_t, 5>{128, 8, 1, 2, 1});
  for (const TensorMapDescription& map : {narrow.q, narrow.k, narrow.v})
    CHECK(check_tensor_map(map));
  problem.kv_order = KvOrder::hnd;  // heads are whole blocks apart, and their rows are not blocks
  CHECK(prefill_maps_of(problem, tensors).k.sizes == std::array<std::uint64_t, 5>{64, 8, 8, 6, 7});
  problem.head_dim_qk = problem.head_dim_v = 128;
  tensors.k.bytes = tensors.v.bytes = 7 * 48 * 8 * 128;
  const TensorMapDescription whole = prefill_maps_of(problem, tensors).k;
  CHECK(whole.sizes == std::array<std::uint64_t, 5>{128, 8, 7 * 48 + 1, 6, 7});
  CHECK(whole.strides_bytes[1] == 128);
  CHECK(whole.box == std::array<std::uint32_t, 5>{128, 8, 1, 2, 1});
}

TEST_CASE("every map of prefill is one that the driver encodes, whatever the stride of a single head") {
  AttentionProblem problem = small_heads();
  problem.heads_kv = 1;
  AttentionTensors tensors;
  tensors.q = {0x1000, 1000 * 32 * kRow};
  tensors.k = {0x2000, 640 * kRow, {64 * 64, 64, 1}};
  tensors.v = {0x3000, 640 * kRow};
  const PrefillMaps maps = prefill_maps_of(problem, tensors);
  for (const TensorMapDescription& map : {maps.q, maps.k, maps.v}) {
    const auto checked = check_tensor_map(map);
    CHECK_MESSAGE(checked, (checked ? std::string() : checked.error().message));
  }
}

TEST_CASE("a box of K has a step, or as many tokens as divide a step and a page") {
  AttentionProblem problem = small_heads();
  kernel_templates::AttentionPrefillParameters parameters{};
  for (const auto& [page, box] : {std::pair{8U, 8}, {24U, 8}, {64U, 64}, {136U, 8}, {256U, 128}}) {
    problem.tokens_per_page = page;
    set_prefill_boxes(problem, {128, 128, 2}, parameters);
    CHECK(parameters.box_tokens == box);
  }
  parameters.v_head_stride = 72;  // not a whole block
  set_prefill_boxes(problem, {128, 128, 2}, parameters);
  CHECK(parameters.box_tokens == 8);
  problem.heads_kv = 1;  // no other head
  set_prefill_boxes(problem, {128, 128, 2}, parameters);
  CHECK(parameters.box_tokens == 128);
  CHECK(parameters.v_head_stride == 0);
  problem.layout = QkvLayout::contiguous_kv;
  set_prefill_boxes(problem, {128, 176, 2}, parameters);
  CHECK(parameters.box_tokens == 176);
}

}  // namespace
}  // namespace cubinet
