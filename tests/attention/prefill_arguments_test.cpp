// SPDX-License-Identifier: Apache-2.0
#include "templates/prefill/prefill_arguments.hpp"

#include "prefill_fixture.hpp"

#include <cstring>

namespace cubinet {
namespace {

using kernel_templates::AttentionPrefillMapParameters;
using kernel_templates::AttentionPrefillParameters;

AttentionPrefillParameters written_prefill(const AttentionProblem& problem, const AttentionTensors& tensors,
                                           const AttentionPrefillParameters& prepared = {}) {
  const PrefillArguments arguments(prepared, kAttentionPrefill, {}, {}, {}, problem);
  std::vector<std::byte> bytes(arguments.size(), std::byte{0xee});
  arguments.prepare(bytes);
  arguments.write(tensors, bytes);
  AttentionPrefillParameters parameters;
  REQUIRE(bytes.size() == sizeof(parameters));
  std::memcpy(&parameters, bytes.data(), sizeof(parameters));
  return parameters;
}

AttentionTensors prefill_tensors() {
  AttentionTensors made;
  std::uint64_t address = 0x100;
  for (DeviceTensor* tensor :
       {&made.q, &made.k, &made.v, &made.o, &made.lse, &made.page_table, &made.kv_lengths, &made.counters,
        &made.q_offsets, &made.kv_offsets, &made.sinks, &made.softmax_scale, &made.output_scale}) {
    tensor->address = address;
    address += 0x100;
  }
  return made;
}

TEST_CASE("the argument of prefill carries the addresses of every run") {
  const AttentionPrefillParameters p = written_prefill(AttentionProblem{}, prefill_tensors());
  CHECK(p.q == 0x100);
  CHECK(p.k == 0x200);
  CHECK(p.v == 0x300);
  CHECK(p.o == 0x400);
  CHECK(p.lse == 0x500);
  CHECK(p.page_table == 0x600);
  CHECK(p.kv_lengths == 0x700);
  CHECK(p.counters == 0x800);
  CHECK(p.q_offsets == 0);
  CHECK(p.kv_offsets == 0);
  CHECK(p.sinks == 0);
  CHECK(p.softmax_scale_address == 0);
  CHECK(p.output_scale_address == 0);
}

TEST_CASE("the argument of prefill names optional tensors where the problem has them") {
  AttentionProblem problem;
  problem.ragged_q = problem.sinks = problem.scales_on_device = true;
  problem.layout = QkvLayout::separate_qkv;
  const AttentionPrefillParameters p = written_prefill(problem, prefill_tensors());
  CHECK(p.page_table == 0);
  CHECK(p.q_offsets == 0x900);
  CHECK(p.kv_offsets == 0xa00);
  CHECK(p.sinks == 0xb00);
  CHECK(p.softmax_scale_address == 0xc00);
  CHECK(p.output_scale_address == 0xd00);
}

TEST_CASE("the argument of prefill has the scales of KV heads if the problem has some") {
  AttentionTensors given = prefill_tensors();
  given.k_head_scales.address = 0x1600;
  given.v_head_scales.address = 0x1700;
  given.v_head_scales.strides[0] = 9;
  AttentionProblem problem;
  problem.heads_kv = 8;
  CHECK(written_prefill(problem, given).k_head_scales == 0);
  problem.kv_scales = KvScales::sequence;
  const AttentionPrefillParameters p = written_prefill(problem, given);
  CHECK(p.k_head_scales == 0x1600);
  CHECK(p.v_head_scales == 0x1700);
  CHECK(p.k_scales_stride == 8);
  CHECK(p.v_scales_stride == 9);
}

TEST_CASE("strides that a tensor of prefill states go before those of a contiguous one") {
  AttentionPrefillParameters prepared{};
  prepared.v_head_stride = 9;
  AttentionTensors given = prefill_tensors();
  given.q.strides = {1, 2, 3};
  given.k.strides = {4, 5, 6};
  given.o.strides = {7, 8, 10};
  given.page_table.strides = {11, 0, 0};
  const AttentionPrefillParameters p = written_prefill({}, given, prepared);
  CHECK(p.q_batch_stride == 1);
  CHECK(p.q_token_stride == 2);
  CHECK(p.q_head_stride == 3);
  CHECK(p.k_outer_stride == 4);
  CHECK(p.k_token_stride == 5);
  CHECK(p.k_head_stride == 6);
  CHECK(p.v_head_stride == 9);
  CHECK(p.o_batch_stride == 7);
  CHECK(p.o_token_stride == 8);
  CHECK(p.o_head_stride == 10);
  CHECK(p.page_table_stride == 11);
}

TEST_CASE("the partial results of prefill are parts of the scratch buffer") {
  WorkspaceSizes sizes;
  sizes.partial_stats_offset = 0x40;
  sizes.scratch_bytes = 0x80;
  AttentionTensors given = prefill_tensors();
  given.scratch.address = 0x10000;
  const PrefillArguments arguments({}, kAttentionPrefill, {}, {}, sizes, {});
  std::vector<std::byte> bytes(arguments.size());
  arguments.prepare(bytes);
  arguments.write(given, bytes);
  AttentionPrefillParameters p;
  std::memcpy(&p, bytes.data(), sizeof(p));
  CHECK(p.partial_o == 0x10000);
  CHECK(p.partial_lse == 0x10040);
  CHECK(written_prefill({}, given).partial_o == 0);
}

TEST_CASE("the boxes of a run follow the strides of its tensors") {
  PrefillFamily family = kAttentionPrefill;
  family.has_maps = true;
  AttentionProblem problem;
  problem.tokens_per_page = 64;
  problem.heads_kv = 2;
  const PrefillArguments arguments({}, family, {128, 128, 2}, {}, {}, problem);
  const auto box_of = [&](const AttentionTensors& given) {
    std::vector<std::byte> bytes(arguments.size());
    arguments.prepare(bytes);
    arguments.write(given, bytes);
    AttentionPrefillParameters p;
    std::memcpy(&p, bytes.data(), sizeof(p));
    return p.box_tokens;
  };
  AttentionTensors given = prefill_tensors();
  CHECK(box_of(given) == 64);
  given.v.strides = {64 * 136, 136, 136};
  CHECK(box_of(given) == 8);
}

TEST_CASE("a family with tensor maps gets a larger argument, in which the driver encodes them") {
  PrefillFamily family = kAttentionPrefill;
  family.has_maps = true;
  const PrefillArguments arguments({}, family, {}, {}, {}, {});
  CHECK(arguments.size() == sizeof(AttentionPrefillMapParameters));
  std::array<PlacedTensorMap, kMaximumTensorMaps> placed;
  REQUIRE(arguments.tensor_maps(prefill_tensors(), placed) == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(placed[i].offset == 384 + 128 * i);
    CHECK(placed[i].description.address == 0x100 * (i + 1));
  }
  CHECK(PrefillArguments({}, kAttentionPrefill, {}, {}, {}, {}).tensor_maps({}, placed) == 0);
}

}  // namespace
}  // namespace cubinet
