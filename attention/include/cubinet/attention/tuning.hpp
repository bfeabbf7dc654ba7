// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/operation.hpp>
#include <cubinet/base/result.hpp>
#include <cubinet/kernel_table/tuning_table.hpp>

namespace cubinet {

// Measures the fastest way to run a problem on a device. Varies families, tiles, stages, splits and
// backends, pruned by the cost model. Each is timed in a CUDA graph over copies of the KV cache
// that exceed every L2, alternating with the plan that is made without measurements
// (docs/tuning.md). Missing kernels are compiled and kept if the Runtime may compile. The test
// tensors are stored in `scratch`, or in separately allocated memory if its address is 0; no tensor
// of the caller is read or written. Takes about `budget_seconds`, seldom twice as long. No other
// function of the library calls it.
//
// Returns the row for TuningTable::add(). Keep it with WritableStore::add_tuning(), or plan with it
// at once (AvailableKernels::use_tuning).
//
// Returns busy if `stream`, on which the caller is about to run, or a stream of the device that the
// legacy stream waits for is being captured. Returns invalid_argument if the scratch is too small,
// and unsupported if nothing runs the problem.
Result<TuningTable::Row> tune_attention(Runtime& runtime, const AttentionProblem& problem, int device,
                                        const DeviceTensor& scratch = {}, CUstream stream = nullptr,
                                        double budget_seconds = 10);

}  // namespace cubinet
