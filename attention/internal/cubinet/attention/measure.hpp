// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/reference.hpp>
#include <cubinet/base/callback.hpp>
#include <cubinet/base/result.hpp>
#include <cubinet/loader/function.hpp>
#include <cubinet/loader/stream.hpp>

#include <cstdint>
#include <memory>
#include <vector>

// How long attention takes on a device, and what it has to do in that time.
namespace cubinet {

// What one run has to compute and to move at least, exactly: pairs of a query and a token that it sees, each
// 2 (head_dim_qk + head_dim_v) operations a query head; every tensor once.
struct AttentionWork {
  double operations = 0;
  double kv_bytes = 0;  // of K and V that some query sees; of latent attention one pool holds both
  double bytes = 0;     // these, Q and O
};

// What a custom mask hides counts as seen. REQUIRES: a length a sequence; q_lengths are looked at with
// ragged_q alone, where none stand for q_len.
AttentionWork attention_work(const AttentionProblem& problem, const std::vector<std::int32_t>& kv_lengths,
                             const std::vector<std::int32_t>& q_lengths = {});

// Returns unavailable if the tensors of a run (of K and V the tokens that some query sees) do not fit the
// device, or have more pages than a page table numbers. Called before the host, which may have less memory,
// makes them.
Result<void> check_memory(const AttentionProblem& problem, const std::vector<std::int32_t>& kv_lengths,
                          const DeviceProperties& device);

// Of `kv_bytes` bytes of K and V, how many copies `runs` runs have to read in turn that none finds its own in
// an L2: at least 256 MB together, several times the largest. Divides `runs`, so that the turns go on evenly
// from one launch of a graph to the next: of 16 copies the first 4 would be read again after 4 of 20 runs.
std::uint32_t cold_copies(double kv_bytes, std::uint32_t runs);

// Equal runs captured together in a CUDA graph, so that the time of one is not that of starting it. Has a
// stream of its own; not thread-safe.
class TimedRuns {
 public:
  // Captures record(0, stream), record(1, stream), … What they launch has to outlive this.
  static Result<TimedRuns> capture(const std::shared_ptr<const Device>& device, std::uint32_t runs,
                                   const Callback<Result<void>(std::uint32_t, CUstream)>& record);
  // Launches the graph once, and then so many times between two events.
  Result<double> seconds_a_run(int launches) const;

 private:
  TimedRuns(std::uint32_t runs, Stream stream, Graph graph, Event begin, Event end)
      : runs_(runs),
        stream_(std::move(stream)),
        graph_(std::move(graph)),
        begin_(std::move(begin)),
        end_(std::move(end)) {}

  std::uint32_t runs_;
  Stream stream_;
  Graph graph_;
  Event begin_;
  Event end_;
};

// A kernel that reads memory and does nothing else: what attention, which has to read K and V, is held
// against. Compiled from a source of a few lines.
class MemoryReader {
 public:
  static Result<MemoryReader> create(Runtime& runtime, int device);
  // Reads two pieces of the device's memory, each of a multiple of 16 bytes.
  Result<void> run(const DeviceTensor& first, const DeviceTensor& second, CUstream stream) const;

 private:
  explicit MemoryReader(Function function) : function_(std::move(function)) {}

  Function function_;
};

}  // namespace cubinet
