// SPDX-License-Identifier: Apache-2.0
#include "append/append_arguments.hpp"

#include "problems.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <vector>

namespace cubinet {
namespace {

using kernel_templates::AttentionAppendParameters;

AttentionProblem appending() {
  AttentionProblem problem = test::generation(2, 3, 1000, 16, 4, 128, 64);
  problem.append.emplace().rope_dim = 96;
  problem.append->k_scale = 0.5;
  problem.data_type_k = problem.data_type_v = DataType::e4m3;
  return problem;
}

AttentionAppendParameters append_written(const AttentionProblem& problem, const AttentionTensors& tensors) {
  const AppendArguments arguments(problem);
  std::vector<std::byte> bytes(arguments.size(), std::byte{0xee});
  arguments.prepare(bytes);
  arguments.write(tensors, bytes);
  AttentionAppendParameters parameters;
  REQUIRE(bytes.size() == sizeof(parameters));
  std::memcpy(&parameters, bytes.data(), sizeof(parameters));
  return parameters;
}

AttentionTensors all_given() {
  AttentionTensors tensors;
  std::uint64_t address = 0x100;
  for (DeviceTensor* tensor :
       {&tensors.new_q, &tensors.new_k, &tensors.new_v, &tensors.q, &tensors.k, &tensors.v,
        &tensors.page_table, &tensors.kv_lengths, &tensors.q_offsets, &tensors.positions, &tensors.cos_sin,
        &tensors.q_scale, &tensors.k_scale, &tensors.v_scale}) {
    tensor->address = address;
    address += 0x100;
  }
  tensors.cos_sin.bytes = 1000 * 96 * 4;
  return tensors;
}

TEST_CASE("the argument of an append carries addresses, sizes and contiguous strides") {
  const AttentionAppendParameters p = append_written(appending(), all_given());
  CHECK(p.new_q == 0x100);
  CHECK(p.new_v == 0x300);
  CHECK(p.q == 0x400);
  CHECK(p.v == 0x600);
  CHECK(p.page_table == 0x700);
  CHECK(p.kv_lengths == 0x800);
  CHECK(p.cos_sin == 0xb00);
  CHECK(p.new_q_batch_stride == 3 * 16 * 128);
  CHECK(p.new_k_token_stride == 4 * 128);
  CHECK(p.new_v_head_stride == 64);
  CHECK(p.q_token_stride == 16 * 128);
  CHECK(p.k_page_stride == 64 * 4 * 128);
  CHECK(p.v_token_stride == 4 * 64);
  CHECK(p.page_table_stride == 16);
  CHECK(p.v_table_offset == 0);
  CHECK(p.q_len == 3);
  CHECK(p.max_kv_length == 1000);
  CHECK(p.page_shift == 6);
  CHECK(p.rope_dim == 96);
  CHECK(p.table_positions == 1000);
  CHECK(p.heads_q == 16);
  CHECK(p.heads_kv == 4);
  CHECK(p.k_columns == 128);
  CHECK(p.v_columns == 64);
  CHECK(p.k_scale == 0.5f);
  CHECK(p.row_threads.divisor == 8);
}

TEST_CASE("what an append does not read has no address, and Q that stays as it is no heads") {
  const AttentionAppendParameters without = append_written(appending(), all_given());
  CHECK(without.q_offsets == 0);
  CHECK(without.positions == 0);
  CHECK(without.k_scale_address == 0);
  CHECK(without.lengths_exclude_new == 0);
  AttentionProblem problem = appending();
  problem.ragged_q = problem.scales_on_device = problem.append->positions = true;
  problem.append->lengths_exclude_new = true;
  const AttentionAppendParameters with = append_written(problem, all_given());
  CHECK(with.q_offsets == 0x900);
  CHECK(with.positions == 0xa00);
  CHECK(with.q_scale_address == 0xc00);
  CHECK(with.v_scale_address == 0xe00);
  CHECK(with.lengths_exclude_new == -1);
  problem.append->rope_dim = 0;
  CHECK(append_written(problem, all_given()).heads_q == 0);
  CHECK(append_written(problem, all_given()).cos_sin == 0);
  problem.data_type_q = DataType::e4m3;
  CHECK(append_written(problem, all_given()).heads_q == 16);
}

TEST_CASE("an append divides rows of e4m3 by the scales of their KV heads") {
  AttentionTensors given = all_given();
  given.k_head_scales.address = 0x1600;
  given.v_head_scales.address = 0x1700;
  AttentionProblem problem = appending();
  CHECK(append_written(problem, given).k_head_scales == 0);
  problem.kv_scales = KvScales::sequence;
  const AttentionAppendParameters p = append_written(problem, given);
  CHECK(p.k_head_scales == 0x1600);
  CHECK(p.v_head_scales == 0x1700);
  CHECK(p.k_scales_stride == problem.heads_kv);
  CHECK(p.v_scales_stride == problem.heads_kv);
}

TEST_CASE("strides of new rows, pages head by head and page tables of their own arrive in the argument") {
  AttentionProblem problem = appending();
  problem.kv_order = KvOrder::hnd;
  AttentionTensors tensors = all_given();
  tensors.new_k.strides = {7, 8, 9};
  tensors.page_table.strides = {40, 0, 0};
  const AttentionAppendParameters p = append_written(problem, tensors);
  CHECK(p.new_k_batch_stride == 7);
  CHECK(p.new_k_head_stride == 9);
  CHECK(p.k_token_stride == 128);
  CHECK(p.k_head_stride == 64 * 128);
  CHECK(p.page_table_stride == 40);
  problem.separate_page_tables = true;
  const AttentionAppendParameters apart = append_written(problem, all_given());
  CHECK(apart.page_table_stride == 32);
  CHECK(apart.v_table_offset == 16);
}

}  // namespace
}  // namespace cubinet
