// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/operation.hpp>
#include <cubinet/base/result.hpp>
#include <cubinet/kernel_table/tuning_table.hpp>

namespace cubinet {

// Measures on a device what runs a problem fastest: families, tiles, stages, splits and backends, pruned by
// the cost model, each in a CUDA graph over copies of the KV cache that no L2 holds, in turn with what would
// be planned without measurements (docs/tuning.md). Kernels that do not exist are compiled and kept, if the
// Runtime may. What it measures with lies in `scratch`, or with address 0 in memory of its own: no tensor of
// the caller's is read or written. Takes about `budget_seconds`, seldom twice as long. Nothing else calls it,
// and no run() does.
//
// The row is for TuningTable::add(): to keep with WritableStore::add_tuning(), or to plan with at once
// (AvailableKernels::use_tuning).
//
// busy while a stream of the device that the legacy stream waits for is being captured, or `stream`, on which
// the caller is about to run; invalid_argument where the scratch is too small; unsupported where nothing runs
// the problem.
Result<TuningTable::Row> tune_attention(Runtime& runtime, const AttentionProblem& problem, int device,
                                        const DeviceTensor& scratch = {}, CUstream stream = nullptr,
                                        double budget_seconds = 10);

}  // namespace cubinet
