// SPDX-License-Identifier: Apache-2.0
// Measuring on a device. Needs a GPU and NVRTC.
#include "support/ok.hpp"
#include "support/skip.hpp"

#include <cubinet/attention/backend.hpp>
#include <cubinet/attention/reference_values.hpp>
#include <cubinet/attention/tuning.hpp>
#include <cubinet/loader/stream.hpp>
#include <cubinet/runtime.hpp>

#include <doctest/doctest.h>

namespace cubinet {
namespace {

using test::ok;

TEST_CASE("what is measured is no slower than what the model plans, and right") {
  const auto runtime = ok(Runtime::create({}));
  const auto opened = runtime->device(0);
  if (!opened) return test::skip(opened.error().to_line());
  const auto device = *opened;
  const DeviceProperties& properties = device->properties();
  AttentionProblem problem;
  problem.batch = 4;
  problem.kv_len = 2048;
  problem.heads_q = 16;
  problem.heads_kv = 2;
  const TuningTable::Row row = ok(tune_attention(*runtime, problem, 0, {.budget_seconds = 8}));
  CHECK(row.candidates > 4);
  CHECK(row.microseconds > 1);
  CHECK(row.microseconds <= row.modelled_microseconds);
  MESSAGE(row.microseconds, " us, ", row.modelled_microseconds, " as modelled, ", row.candidates,
          " candidates: ", row.kernel.to_string(), ", splits ", row.splits);

  TuningTable table;
  table.add(row);
  AvailableKernels kernels;
  kernels.use_tuning(table, properties.name);
  const auto plan = ok(plan_attention(
      problem, {properties.capability, properties.multiprocessors, properties.maximum_shared_bytes_per_block},
      kernels, ok(AttentionBackends::builtin())));
  CHECK_FALSE(plan.measured.empty());
  const BoundAttention attention = ok(BoundAttention::bind(*runtime, plan, 0));
  const AttentionInputs inputs =
      ok(make_attention_inputs(problem, make_kv_lengths(problem, LengthPattern::borders), 1));
  const TensorBuffers buffers =
      ok(TensorBuffers::create(device, problem, inputs, attention.plan().workspace));
  const Stream stream = ok(Stream::create(device));
  ok(attention.run(buffers.tensors(), stream.handle()));
  ok(stream.synchronize());
  const AttentionDeviation error =
      ok(compare_attention(problem, ok(attention_reference(problem, inputs)), ok(buffers.output()), {}));
  CHECK(error.worst_row < 1e-2);
}

TEST_CASE(
    "Prompts of e4m3 are measured, and the chosen kernel loses no more of its sums than the planned one") {
  const auto runtime = ok(Runtime::create({}));
  const auto opened = runtime->device(0);
  if (!opened) return test::skip(opened.error().to_line());
  AttentionProblem problem;
  problem.prefill = true;
  problem.q_len = 64;
  problem.kv_len = 65'536;
  problem.heads_q = 4;
  problem.layout = QkvLayout::contiguous_kv;
  problem.data_type_q = problem.data_type_k = problem.data_type_v = DataType::e4m3;
  const TuningTable::Row row = ok(tune_attention(*runtime, problem, 0, {.budget_seconds = 8}));
  CHECK(row.candidates >= 1);
  CHECK(row.microseconds <= row.modelled_microseconds);
  MESSAGE(row.microseconds, " us, ", row.modelled_microseconds, " as modelled, ", row.candidates,
          " candidates: ", row.kernel.to_string(), ", splits ", row.splits);
  // Without folds, sums of 65536 tokens lose more than a third.
  if (row.kernel.name == "attention_prefill_wgmma")
    CHECK(row.kernel.parameters.at("fold_steps") != ParameterValue(0));
}

TEST_CASE("Sums of e4m3 are compared at the longest KV that the row serves") {
  const auto runtime = ok(Runtime::create({}));
  const auto opened = runtime->device(0);
  if (!opened) return test::skip(opened.error().to_line());
  AttentionProblem problem;
  problem.prefill = true;
  problem.batch = 4;
  problem.q_len = problem.kv_len = 1030;
  problem.heads_q = 32;
  problem.heads_kv = 8;
  problem.layout = QkvLayout::contiguous_kv;
  problem.data_type_q = problem.data_type_k = problem.data_type_v = DataType::e4m3;
  const TuningTable::Row row = ok(tune_attention(*runtime, problem, 0, {.budget_seconds = 8}));
  MESSAGE(row.microseconds, " us, ", row.modelled_microseconds, " as modelled, ", row.candidates,
          " candidates: ", row.kernel.to_string());
  // Without folds, sums of 2048 tokens lose 0.02, and those of 1030 less than the limit.
  if (row.kernel.name == "attention_prefill_wgmma")
    CHECK(row.kernel.parameters.at("fold_steps") != ParameterValue(0));
}

}  // namespace
}  // namespace cubinet
