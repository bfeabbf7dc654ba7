// SPDX-License-Identifier: Apache-2.0
// What attention_decode computes, over the parameters of its template and the ways to run it. Needs a GPU and
// NVRTC.
#include "support/ok.hpp"
#include "support/skip.hpp"

#include <cubinet/attention/decode_plan.hpp>
#include <cubinet/attention/decode_reference.hpp>
#include <cubinet/loader/memory.hpp>
#include <cubinet/loader/stream.hpp>
#include <cubinet/runtime.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace cubinet {
namespace {

using test::ok;

// A runtime that keeps everything in memory, and its first device with a stream.
struct Gpu {
  std::shared_ptr<Runtime> runtime;
  std::shared_ptr<const Device> device;

  static std::optional<Gpu> open() {
    const auto made = Runtime::create({});
    REQUIRE(made);
    auto opened = (*made)->device(0);
    if (!opened) {
      test::skip(opened.error().to_line());
      return std::nullopt;
    }
    return Gpu{*made, *opened};
  }
};

template <class T>
DeviceBuffer upload(const Gpu& gpu, const std::vector<T>& values) {
  DeviceBuffer buffer = ok(DeviceBuffer::allocate(gpu.device, values.size() * sizeof(T)));
  ok(buffer.copy_from(std::as_bytes(std::span(values))));
  return buffer;
}

DeviceBuffer poisoned(const Gpu& gpu, std::size_t bytes) {
  DeviceBuffer buffer = ok(DeviceBuffer::allocate(gpu.device, bytes));
  ok(buffer.fill(std::byte{0xff}));  // NaN in every type of an output
  return buffer;
}

void run(const Gpu& gpu, const DecodePlan& plan, const DecodeTensors& tensors) {
  const auto guard = ok(gpu.device->make_current());
  const Stream stream = ok(Stream::create(gpu.device));
  const auto arguments = ok(plan.arguments(tensors));
  LaunchConfig config;
  config.stream = stream.handle();
  config.programmatic_launch = true;
  config.grid = plan.grid;
  const auto prepared = ok(gpu.runtime->prepare(plan.spec));
  ok(ok(gpu.runtime->function(*prepared, 0, "attention_decode")).launch(config, arguments));
  if (plan.reduces()) {
    config.grid = plan.reduce_grid;
    ok(ok(gpu.runtime->function(*prepared, 0, "attention_decode_reduce")).launch(config, arguments));
  }
  ok(stream.synchronize());
}

DecodePlan plan_for(const Gpu& gpu, const DecodeProblem& problem, int splits) {
  const auto& properties = gpu.device->properties();
  DecodePlanLimits limits;
  if (splits > 0) limits.splits = splits;
  return ok(plan_decode(
      problem, {static_cast<int>(properties.multiprocessors), properties.maximum_shared_bytes_per_block},
      limits));
}

struct Outputs {
  Bytes o;
  std::vector<float> lse;
};

Outputs decode(const Gpu& gpu, const DecodeProblem& problem, const DecodePlan& plan,
               const DecodeInputs& inputs) {
  const std::size_t rows = static_cast<std::size_t>(problem.batch) * static_cast<std::size_t>(problem.q_len) *
                           static_cast<std::size_t>(problem.heads_q);
  const std::size_t row_elements = static_cast<std::size_t>(problem.head_dim_v);
  const DeviceBuffer q = upload(gpu, inputs.q);
  const DeviceBuffer k = upload(gpu, inputs.k);
  const DeviceBuffer v = upload(gpu, inputs.v);
  const DeviceBuffer table = upload(gpu, inputs.page_table);
  const DeviceBuffer lengths = upload(gpu, inputs.kv_lengths);
  const DeviceBuffer o = poisoned(gpu, rows * row_elements * (bits_of(problem.dtype_o) / 8));
  const DeviceBuffer lse = poisoned(gpu, rows * sizeof(float));
  const DeviceBuffer workspace = poisoned(gpu, plan.workspace_bytes);
  run(gpu, plan,
      {q.address(), k.address(), v.address(), o.address(), lse.address(), table.address(), lengths.address(),
       workspace.address()});
  Outputs outputs{Bytes(o.size()), std::vector<float>(rows)};
  ok(o.copy_to(outputs.o));
  ok(lse.copy_to(std::as_writable_bytes(std::span(outputs.lse))));
  return outputs;
}

// `splits` 0: as planned.
void check_against_reference(const Gpu& gpu, const DecodeProblem& problem, int splits = 0) {
  const DecodePlan plan = plan_for(gpu, problem, splits);
  CAPTURE(plan.spec.to_string());
  CAPTURE(plan.num_splits);
  const DecodeInputs inputs =
      ok(make_decode_inputs(problem, make_decode_lengths(problem, LengthPattern::borders), 11));
  const Outputs outputs = decode(gpu, problem, plan, inputs);
  const DecodeOutputs reference = ok(decode_reference(problem, inputs));
  const DecodeError error = ok(compare_decode(problem, reference, outputs.o, outputs.lse));
  CHECK(error.worst_row < 1e-2);
  CHECK(error.worst_lse < 1e-3);
}

// 19 sequences: the longest, an empty one, and lengths on both sides of slices, pages and tiles.
DecodeProblem many_borders(int head_dim, int page_size) {
  DecodeProblem problem;
  problem.batch = 19;
  problem.heads_q = 16;
  problem.heads_kv = 2;
  problem.head_dim_qk = problem.head_dim_v = head_dim;
  problem.page_size = page_size;
  problem.kv_len_max = 700;
  return problem;
}

TEST_CASE("Decode attention agrees with float64 for every head dim and page size, split or not") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  for (const int head_dim : {64, 128, 256}) {
    for (const int page_size : {16, 32, 64, 128}) {
      for (const int splits : {1, 3})
        check_against_reference(*gpu, many_borders(head_dim, page_size), splits);
    }
  }
  check_against_reference(*gpu, many_borders(128, 64), 40);  // more splits than a sequence has tiles
}

TEST_CASE("Head dims of Q K and of V need not be alike") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  for (const auto& [qk, v] : {std::pair{256, 128}, std::pair{64, 256}, std::pair{128, 64}}) {
    DecodeProblem problem = many_borders(qk, 64);
    problem.head_dim_v = v;
    check_against_reference(*gpu, problem, 2);
  }
}

TEST_CASE("Both input types, all output types and both layouts agree") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  for (const DataType type : {DataType::bf16, DataType::fp16}) {
    for (const DataType output : {DataType::bf16, DataType::fp16, DataType::fp32}) {
      DecodeProblem problem = many_borders(128, 32);
      problem.dtype_q = problem.dtype_kv = type;
      problem.dtype_o = output;
      problem.layout = output == DataType::fp32 ? KvLayout::hnd : KvLayout::nhd;
      for (const int splits : {1, 2})
        check_against_reference(*gpu, problem, splits);
    }
  }
}

TEST_CASE("Several query tokens, causal or dense, fill tiles of every size and more than one") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  for (const int q_len : {2, 3, 4, 8, 13}) {
    for (const DecodeMask mask : {DecodeMask::causal, DecodeMask::dense}) {
      DecodeProblem problem = many_borders(q_len == 13 ? 256 : 128, 64);
      problem.q_len = q_len;
      problem.mask = mask;
      for (const int splits : {1, 3})
        check_against_reference(*gpu, problem, splits);
    }
  }
}

TEST_CASE(
    "Groups of one head, of a number that does not divide the tile, and of more heads than it has rows") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  for (const auto& [heads_q, heads_kv] : {std::pair{4, 4}, std::pair{15, 3}, std::pair{71, 1}}) {
    DecodeProblem problem = many_borders(64, 16);
    problem.heads_q = heads_q;
    problem.heads_kv = heads_kv;
    check_against_reference(*gpu, problem);
  }
}

TEST_CASE("A window hides older tokens, whose pages are never read") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  for (const int window : {1, 16, 37, 300}) {
    for (const int q_len : {1, 7}) {
      DecodeProblem problem = many_borders(128, 16);
      problem.window = window;
      problem.q_len = q_len;
      for (const int splits : {1, 3})
        check_against_reference(*gpu, problem, splits);
    }
  }
}

TEST_CASE("A plan for one long sequence, and one for known uneven lengths, agree") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  DecodeProblem problem = many_borders(128, 64);
  problem.batch = 1;
  problem.kv_len_max = 20000;
  check_against_reference(*gpu, problem);
  problem.batch = 6;
  problem.kv_lengths = make_decode_lengths(problem, LengthPattern::borders);
  check_against_reference(*gpu, problem);
}

TEST_CASE("An infinite value in the last token makes its element infinite and no other, split or not") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  DecodeProblem problem = many_borders(128, 64);
  problem.batch = problem.heads_kv = 1;
  problem.dtype_o = DataType::fp32;
  DecodeInputs inputs =
      ok(make_decode_inputs(problem, make_decode_lengths(problem, LengthPattern::uniform), 11));
  inputs.q.assign(inputs.q.size(), 0);  // every token weighs the same
  constexpr std::size_t kElement = 5;
  const auto last = static_cast<std::size_t>(problem.kv_len_max - 1);
  const auto page_size = static_cast<std::size_t>(problem.page_size);
  const auto page = static_cast<std::size_t>(inputs.page_table[last / page_size]);
  const auto row_elements = static_cast<std::size_t>(problem.head_dim_v);
  inputs.v[(page * page_size + last % page_size) * row_elements + kElement] =
      from_float(std::numeric_limits<float>::infinity(), problem.dtype_kv);
  for (const int splits : {1, 2, 3, 5}) {
    CAPTURE(splits);
    const Outputs outputs = decode(*gpu, problem, plan_for(*gpu, problem, splits), inputs);
    std::vector<float> o(outputs.o.size() / sizeof(float));
    std::memcpy(o.data(), outputs.o.data(), outputs.o.size());
    for (std::size_t i = 0; i < o.size(); ++i) {
      CAPTURE(i);
      REQUIRE(std::isfinite(o[i]) == (i % row_elements != kElement));
      if (!std::isfinite(o[i])) REQUIRE(o[i] == std::numeric_limits<float>::infinity());
    }
  }
}

TEST_CASE("The log sum exp of 131072 equal logits in one split stays exact to the rounding of a float") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  DecodeProblem problem;
  problem.heads_q = 16;
  problem.kv_len_max = 131072;
  problem.dtype_o = DataType::fp32;
  DecodeInputs inputs =
      ok(make_decode_inputs(problem, make_decode_lengths(problem, LengthPattern::uniform), 11));
  // Every key is all ones and a head's query is one number of 8 bits throughout, so that the raw logits are
  // exact. Times the scale they are not, each head's by another residue: what of it a slice left behind would
  // add up over 2048 of them.
  inputs.k.assign(inputs.k.size(), from_float(1.0f, problem.dtype_kv));
  const auto query_of = [](std::size_t head) { return 3.75f + static_cast<float>(head) / 64.0f; };
  const auto elements = static_cast<std::size_t>(problem.head_dim_qk);
  for (std::size_t i = 0; i < inputs.q.size(); ++i)
    inputs.q[i] = from_float(query_of(i / elements), problem.dtype_q);

  const Outputs outputs = decode(*gpu, problem, plan_for(*gpu, problem, 1), inputs);
  REQUIRE(outputs.lse.size() == static_cast<std::size_t>(problem.heads_q));
  for (std::size_t head = 0; head < outputs.lse.size(); ++head) {
    CAPTURE(head);
    const double logit =
        static_cast<double>(query_of(head)) * problem.head_dim_qk * problem.scale();  // 42 to 45
    CHECK(std::abs(outputs.lse[head] - (logit + std::log(problem.kv_len_max))) < 1e-4);
  }
}

}  // namespace
}  // namespace cubinet
