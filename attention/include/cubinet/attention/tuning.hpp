// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/operation.hpp>
#include <cubinet/base/callback.hpp>
#include <cubinet/base/result.hpp>
#include <cubinet/kernel_table/tuning_table.hpp>

namespace cubinet {

struct TuneAttentionOptions {
  // The device memory to measure in. With address 0 the measurement allocates its own.
  DeviceTensor scratch = {};
  CUstream stream = nullptr;   // the stream that the caller will run on
  double budget_seconds = 10;  // approximate; rarely exceeded by a factor of two
  // Called often, from any thread. If it returns true, the measurement ends and returns
  // unavailable.
  Callback<bool()> cancelled = {};
};

// Measures on a device what runs a problem fastest: families, tiles, stages, splits and backends,
// pruned by the cost model. Each candidate runs in a CUDA graph over copies of the KV cache that
// exceed the L2, in turn with the plan that is made without measurements (docs/tuning.md). Missing
// kernels are compiled and kept if the Runtime may. No tensor of the caller's is read or written.
// run() never measures.
//
// The row is for TuningTable::add(). RowTable::add_tuning() keeps it;
// AvailableKernels::use_tuning() plans with it at once.
//
// Returns busy while `stream`, or a stream that the legacy stream waits for, is being captured;
// invalid_argument if the scratch memory is too small; unsupported if nothing runs the problem.
Result<TuningTable::Row> tune_attention(Runtime& runtime, const AttentionProblem& problem, int device,
                                        const TuneAttentionOptions& options = {});

}  // namespace cubinet
