// SPDX-License-Identifier: Apache-2.0
#include "templates/decode/decode_arguments.hpp"

#include <doctest/doctest.h>

#include <cstring>

namespace cubinet {
namespace {

using kernel_templates::AttentionDecodeParameters;

AttentionDecodeParameters written(const DecodeArguments& arguments, const AttentionTensors& tensors) {
  std::vector<std::byte> bytes(arguments.size(), std::byte{0xee});
  arguments.prepare(bytes);
  arguments.write(tensors, bytes);
  AttentionDecodeParameters parameters;
  REQUIRE(bytes.size() == sizeof(parameters));
  std::memcpy(&parameters, bytes.data(), sizeof(parameters));
  return parameters;
}

AttentionTensors tensors() {
  AttentionTensors made;
  std::uint64_t address = 0x100;
  for (DeviceTensor* tensor : {&made.q, &made.k, &made.v, &made.o, &made.lse, &made.page_table,
                               &made.kv_lengths, &made.scratch, &made.counters}) {
    tensor->address = address;
    address += 0x100;
  }
  return made;
}

TEST_CASE("the argument carries the addresses, and partial results where the plan puts them") {
  AttentionDecodeParameters prepared{};
  prepared.q_token_stride = 7;
  WorkspaceSizes workspace;
  workspace.scratch_bytes = 0x500;
  workspace.counter_bytes = 0x100;
  workspace.partial_stats_offset = 0x400;
  const AttentionDecodeParameters p = written(DecodeArguments(prepared, workspace, {}), tensors());
  CHECK(p.q == 0x100);
  CHECK(p.k == 0x200);
  CHECK(p.v == 0x300);
  CHECK(p.o == 0x400);
  CHECK(p.lse == 0x500);
  CHECK(p.page_table == 0x600);
  CHECK(p.kv_lengths == 0x700);
  CHECK(p.partial_o == 0x800);
  CHECK(p.partial_lse == 0xc00);
  CHECK(p.counters == 0x900);
  CHECK(p.q_token_stride == 7);
  CHECK(written(DecodeArguments(prepared, {}, {}), tensors()).partial_o == 0);
}

TEST_CASE("tensors that only some problems have are read where the problem has them, whatever is given") {
  AttentionTensors given = tensors();
  given.q_offsets.address = 0x1100;
  given.sinks.address = 0x1200;
  given.softmax_scale.address = 0x1300;
  given.mask.address = 0x1500;
  given.output_scale.address = 0x1400;
  AttentionProblem problem;
  const AttentionDecodeParameters without = written(DecodeArguments({}, {}, problem), given);
  CHECK(without.q_offsets == 0);
  CHECK(without.sinks == 0);
  CHECK(without.mask == 0);
  CHECK(without.softmax_scale_address == 0);
  CHECK(without.output_scale_address == 0);
  problem.ragged_q = problem.sinks = problem.scales_on_device = true;
  problem.mask = AttentionMask::custom;
  const AttentionDecodeParameters with = written(DecodeArguments({}, {}, problem), given);
  CHECK(with.q_offsets == 0x1100);
  CHECK(with.sinks == 0x1200);
  CHECK(with.mask == 0x1500);
  CHECK(with.softmax_scale_address == 0x1300);
  CHECK(with.output_scale_address == 0x1400);
}

TEST_CASE("scales of KV heads are those of all sequences, of contiguous rows or of rows further apart") {
  AttentionTensors given = tensors();
  given.k_head_scales.address = 0x1600;
  given.v_head_scales.address = 0x1700;
  AttentionProblem problem;
  problem.heads_kv = 3;
  CHECK(written(DecodeArguments({}, {}, problem), given).k_head_scales == 0);
  CHECK(written(DecodeArguments({}, {}, problem), given).v_head_scales == 0);
  problem.kv_scales = KvScales::head;
  AttentionDecodeParameters p = written(DecodeArguments({}, {}, problem), given);
  CHECK(p.k_head_scales == 0x1600);
  CHECK(p.v_head_scales == 0x1700);
  CHECK(p.k_scales_stride == 0);
  CHECK(p.v_scales_stride == 0);
  problem.kv_scales = KvScales::sequence;
  given.v_head_scales.strides[0] = 5;
  p = written(DecodeArguments({}, {}, problem), given);
  CHECK(p.k_scales_stride == 3);
  CHECK(p.v_scales_stride == 5);
}

TEST_CASE("strides that a tensor states go before those of a contiguous one") {
  AttentionDecodeParameters prepared{};
  prepared.v_head_stride = 9;
  AttentionTensors given = tensors();
  given.q.strides = {1, 2, 3};
  given.k.strides = {4, 5, 6};
  given.o.strides = {7, 8, 9};
  given.page_table.strides = {10, 0, 0};
  const AttentionDecodeParameters p = written(DecodeArguments(prepared, {}, {}), given);
  CHECK(p.q_batch_stride == 1);
  CHECK(p.q_token_stride == 2);
  CHECK(p.q_head_stride == 3);
  CHECK(p.k_page_stride == 4);
  CHECK(p.k_token_stride == 5);
  CHECK(p.k_head_stride == 6);
  CHECK(p.v_head_stride == 9);
  CHECK(p.o_batch_stride == 7);
  CHECK(p.page_table_stride == 10);
}

}  // namespace
}  // namespace cubinet
