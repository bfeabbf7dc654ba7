// SPDX-License-Identifier: Apache-2.0
// That the bytes are the publisher's own is tests/cli/golden_launches_test.cpp's to show.
#include "published/published_arguments.hpp"

#include "published_launches.hpp"

#include <doctest/doctest.h>

namespace cubinet {
namespace {

using Member = ArgumentMember;

std::vector<std::byte> argument_of(const AttentionProblem& problem, const AttentionTensors& tensors) {
  const PublishedArguments arguments(test::shared_launch(problem));
  std::vector<std::byte> argument(arguments.size());
  arguments.prepare(argument);
  arguments.write(tensors, argument);
  return argument;
}

AttentionProblem decode() {
  AttentionProblem problem = test::generation(4, 2, 4096, 32, 8);
  problem.tokens_per_page = 32;
  return problem;
}

TEST_CASE("a page table of longer rows is told by its stride") {
  AttentionTensors tensors;
  CHECK(test::member_of<std::int32_t>(argument_of(decode(), tensors), Member::pages_per_sequence) == 128);
  tensors.page_table.strides = {200, 0, 0};
  CHECK(test::member_of<std::int32_t>(argument_of(decode(), tensors), Member::pages_per_sequence) == 200);
}

TEST_CASE("what a problem has not is not passed on though it is given") {
  AttentionTensors tensors;
  for (DeviceTensor AttentionTensors::*tensor :
       {&AttentionTensors::sinks, &AttentionTensors::q_offsets, &AttentionTensors::kv_offsets,
        &AttentionTensors::softmax_scale, &AttentionTensors::output_scale, &AttentionTensors::o_block_scales})
    (tensors.*tensor).address = 0x1000;
  const auto argument = argument_of(decode(), tensors);
  for (const Member member :
       {Member::sinks, Member::q_offsets, Member::kv_offsets, Member::softmax_scale_address,
        Member::output_scale_address, Member::output_block_scales, Member::softmax_stats})
    CHECK(test::member_of<std::uint64_t>(argument, member) == 0);
  AttentionProblem problem = decode();
  problem.sinks = problem.ragged_q = problem.scales_on_device = true;
  const auto asked = argument_of(problem, tensors);
  for (const Member member :
       {Member::sinks, Member::q_offsets, Member::softmax_scale_address, Member::output_scale_address})
    CHECK(test::member_of<std::uint64_t>(asked, member) == 0x1000);
  CHECK(test::member_of<float>(asked, Member::output_scale) == 1);
}

TEST_CASE("ragged queries are as many as the tensor has room for") {
  AttentionProblem problem = decode();
  AttentionTensors tensors;
  tensors.q.bytes = 5 * 32 * 128 * 2;
  CHECK(test::member_of<std::int32_t>(argument_of(problem, tensors), Member::total_q) == 8);
  problem.ragged_q = true;
  CHECK(test::member_of<std::int32_t>(argument_of(problem, tensors), Member::total_q) == 5);
}

TEST_CASE("ragged tokens are counted up to the largest offset that an int32 holds") {
  AttentionProblem problem = test::context(65'535, 1U << 16U, 1U << 16U, 8, 1);
  problem.layout = QkvLayout::separate_qkv;
  problem.ragged_q = true;
  AttentionTensors tensors;
  tensors.q.bytes = tensors.k.bytes = std::uint64_t{1} << 50U;
  const auto argument = argument_of(problem, tensors);
  CHECK(test::member_of<std::int32_t>(argument, Member::total_q) == INT32_MAX);
  CHECK(test::member_of<std::int32_t>(argument, Member::total_kv) == INT32_MAX);
}

TEST_CASE("partial outputs lie behind the statistics of all multiprocessors") {
  AttentionTensors tensors;
  tensors.scratch.address = 0x10000;
  const PublishedLaunch launch = test::published_launch(decode());
  const auto argument = argument_of(decode(), tensors);
  const auto stats = test::member_of<std::uint64_t>(argument, Member::partial_stats);
  CHECK(stats == 0x10000 + launch.workspace.partial_stats_offset);
  CHECK(test::member_of<std::uint64_t>(argument, Member::partial_output) ==
        stats + std::uint64_t{8} * 148 * launch.kernel.traits.step_q);
}

TEST_CASE("from version 72 on a prefill kernel counts the query tokens of all its tiles") {
  PublishedLaunch launch = test::published_launch(test::context(2, 511, 2047, 32, 8));
  CHECK(launch.tokens_per_cta() == 128);
  launch.layout = find_argument_layout("0.7.2");
  CHECK(launch.tokens_per_cta() == 256);
}

}  // namespace
}  // namespace cubinet
