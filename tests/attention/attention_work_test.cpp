// SPDX-License-Identifier: Apache-2.0
#include "problems.hpp"

#include <cubinet/attention/measure.hpp>

#include <doctest/doctest.h>

namespace cubinet {
namespace {

using namespace test;

TEST_CASE("one query token takes every token of K and V once") {
  const AttentionWork work = attention_work(generation(2, 1, 100, 4, 2, 64, 64), {100, 7});
  CHECK(work.operations == 2.0 * 107 * 4 * 128);
  CHECK(work.kv_bytes == 107.0 * 2 * 128 * 2);
  CHECK(work.bytes == work.kv_bytes + 2.0 * 4 * 128 * 2);
}

TEST_CASE("of several query tokens each sees one token more than the one before") {
  AttentionProblem problem = generation(1, 3, 100, 4, 2, 64, 64);
  CHECK(attention_work(problem, {100}).operations == 2.0 * (98 + 99 + 100) * 4 * 128);
  CHECK(attention_work(problem, {100}).kv_bytes == 100.0 * 2 * 128 * 2);
  CHECK(attention_work(problem, {2}).operations == 2.0 * (0 + 1 + 2) * 4 * 128);
  problem.mask = AttentionMask::dense;
  CHECK(attention_work(problem, {100}).operations == 2.0 * 300 * 4 * 128);
}

TEST_CASE("a window is all that is read") {
  AttentionProblem problem = generation(2, 2, 100, 4, 2, 64, 64);
  problem.window = 10;
  CHECK(attention_work(problem, {100, 5}).operations == 2.0 * (10 + 10 + 4 + 5) * 4 * 128);
  CHECK(attention_work(problem, {100, 5}).kv_bytes == (11.0 + 5) * 2 * 128 * 2);
}

TEST_CASE("a sequence without queries reads nothing, and e4m3 is a byte") {
  AttentionProblem problem = generation(2, 4, 100, 4, 2, 64, 64);
  problem.ragged_q = true;
  problem.data_type_k = problem.data_type_v = DataType::e4m3;
  CHECK(attention_work(problem, {100, 100}, {1, 0}).kv_bytes == 100.0 * 2 * 128);
  CHECK(attention_work(problem, {100, 100}, {1, 0}).bytes == 100.0 * 2 * 128 + 4.0 * 128 * 2);
}

TEST_CASE("the tensors have to fit the device, and their pages a page table") {
  DeviceProperties device;
  device.memory_bytes = 100'000;
  AttentionProblem problem = generation(2, 1, 100, 4, 2, 64, 64);
  CHECK_FALSE(check_memory(problem, {100, 100}, device));
  CHECK(check_memory(problem, {50, 50}, device));
  problem.window = 10;
  CHECK(check_memory(problem, {100, 100}, device));
  AttentionProblem of_queries = generation(2, 1, 100, 512, 2, 64, 64);
  of_queries.heads_kv = 1;
  CHECK_FALSE(check_memory(of_queries, {1, 1}, device));
  device.memory_bytes = 11'000;  // the pages' numbers beside what is seen of them
  CHECK_FALSE(check_memory(generation(1, 1, 1'000'000, 4, 2, 64, 64), {1}, device));
  device.memory_bytes = std::uint64_t{1} << 60U;
  const auto many_pages = check_memory(generation(2, 1, kUnlimited, 4, 2, 64, 64), {1, 1}, device);
  CHECK(many_pages);
  problem = generation(2, 1, kUnlimited, 4, 2, 64, 64);
  problem.tokens_per_page = 1;
  const auto too_many = check_memory(problem, {1, 1}, device);
  REQUIRE_FALSE(too_many);
  CHECK(too_many.error().message.starts_with("4294967294 pages are more"));
}

TEST_CASE("latent attention reads one pool, and computes with both") {
  const AttentionWork work = attention_work(generation(1, 1, 100, 16, 16, 576, 512), {100});
  CHECK(work.kv_bytes == 100.0 * 576 * 2);
  CHECK(work.operations == 2.0 * 100 * 16 * (576 + 512));
}

}  // namespace
}  // namespace cubinet
