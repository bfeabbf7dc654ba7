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

// The time that attention takes on a device, and the work done in that time.
namespace cubinet {

// The exact minimum of computation and traffic of one run. Each pair of a query and a visible token
// takes 2 (head_dim_qk + head_dim_v) operations per query head. Every tensor is moved once.
struct AttentionWork {
  double operations = 0;
  // Bytes of K and V that some query sees. In latent attention one pool holds both.
  double kv_bytes = 0;
  double bytes = 0;  // kv_bytes and the bytes of Q and O
};

// Computes the work of one run. Tokens hidden by a custom mask count as visible. `q_lengths` is
// read only with ragged_q; if empty, every sequence has q_len query tokens. REQUIRES: one length
// per sequence.
AttentionWork attention_work(const AttentionProblem& problem, const std::vector<std::int32_t>& kv_lengths,
                             const std::vector<std::int32_t>& q_lengths = {});

// Returns unavailable if the tensors of a run (only the visible tokens of K and V) do not fit in
// the device's memory, or have more pages than a page table can number. Call it before the host
// allocates the tensors, because the host may have less memory.
Result<void> check_memory(const AttentionProblem& problem, const std::vector<std::int32_t>& kv_lengths,
                          const DeviceProperties& device);

// Returns the number of copies of `kv_bytes` bytes of K and V that `runs` runs must read in turn so
// that none finds its data in an L2: at least 256 MB together, several times the largest L2. The
// result divides `runs`, so that the rotation continues evenly from one launch of a graph to the
// next. With 16 copies and 20 runs, the first 4 copies would be read again after 4 runs.
std::uint32_t cold_copies(double kv_bytes, std::uint32_t runs);

// Equal runs captured together in a CUDA graph, so that launch overhead does not dominate. Has its
// own stream. Not thread-safe.
class TimedRuns {
 public:
  // Captures record(0, stream), record(1, stream), … The kernels and buffers must outlive this
  // object.
  static Result<TimedRuns> capture(const std::shared_ptr<const Device>& device, std::uint32_t runs,
                                   const Callback<Result<void>(std::uint32_t, CUstream)>& record);
  // Launches the graph once to warm up, then `launches` times between two events.
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

// A kernel that only reads memory: the baseline for attention, which has to read K and V. Compiled
// from a source of a few lines.
class MemoryReader {
 public:
  static Result<MemoryReader> create(Runtime& runtime, int device);
  // Reads two regions of the device's memory, each a multiple of 16 bytes.
  Result<void> run(const DeviceTensor& first, const DeviceTensor& second, CUstream stream) const;

 private:
  explicit MemoryReader(Function function) : function_(std::move(function)) {}

  Function function_;
};

}  // namespace cubinet
