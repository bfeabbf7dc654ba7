// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/device_facts.hpp>
#include <cubinet/attention/operation.hpp>
#include <cubinet/base/result.hpp>
#include <cubinet/spec/kernel_spec.hpp>

#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace cubinet {

// A kind of device that a workload was recorded on. A kernel's device has only the capability.
struct WorkloadDevice {
  ComputeCapability capability = {};
  std::uint32_t sm_count = 0;
  std::uint32_t maximum_shared_bytes = 0;  // DeviceFacts::maximum_shared_bytes
  std::string name = {};                   // DeviceProperties::name, for measurements

  static WorkloadDevice of(const DeviceProperties& device);
  DeviceFacts facts() const { return {capability, sm_count, maximum_shared_bytes}; }
  friend auto operator<=>(const WorkloadDevice&, const WorkloadDevice&) = default;
};

// An attention problem and the options that it was bound with. These options are kept: backend,
// may_compile, starts_early, targets, kernel, splits, split_tokens and uses_tuning. The lengths
// that were known at planning time (AttentionProblem::kv_lengths) are not.
struct WorkloadAttention {
  AttentionProblem problem;
  PlanOptions options = {};
};

// One thing to prepare.
struct WorkloadEntry {
  std::variant<KernelSpec, WorkloadAttention> work;  // a complete specification, or a problem
  std::set<WorkloadDevice> devices = {};             // that have used it; at least one
  std::uint64_t first_use = 0;                       // its position in the order of first use

  // Returns "rms_norm(hidden_size=4096)" or "attention of batch 8, 4096 KV tokens, …".
  std::string to_string() const;
};

// The counters of one recording, from its start to when it was read. Runtime::Counters has their
// meaning; `loads` counts the requests that loaded a kernel.
struct WorkloadRecording {
  std::uint64_t hits = 0;
  std::uint64_t loads = 0;
  std::uint64_t compiled = 0;
  std::uint64_t misses = 0;
  std::uint64_t failures = 0;

  friend bool operator==(const WorkloadRecording&, const WorkloadRecording&) = default;
};

// The most lines after the first of a workload, and the most bytes.
inline constexpr std::size_t kMaximumWorkloadLines = 100'000;
inline constexpr std::uint64_t kMaximumWorkloadBytes = std::uint64_t{64} << 20;

// The kernels and attention problems that a process needs, in the order of their first use
// (docs/workloads.md). A plain value. Its text (docs/formats/workload.md) is one for equal
// workloads.
class Workload {
 public:
  Workload() = default;
  // Parses the text. `name` names it in messages. A line that is not understood is left out and
  // reported by rejected(), and so are the lines beyond the limit and those that a truncated text
  // lacks. Returns unsupported for a newer version and invalid_argument for a text that is no
  // workload.
  static Result<Workload> parse(std::string_view text, const std::string& name = "the workload");
  // Reads a file. Of a file above kMaximumWorkloadBytes, the rest is reported by rejected(). Errors
  // are those of parse(), and not_found or io.
  static Result<Workload> read(const std::string& path);
  std::string to_text() const;
  // Like to_text(). Returns invalid_argument for a workload above the limits, which no reader would
  // take whole.
  Result<std::string> to_stored_text() const;
  // Replaces the file, atomically. Returns the errors of to_stored_text(), and io if it cannot be
  // written.
  Result<void> write(const std::string& path) const;

  // Adds an entry. If it exists, its devices are added and the earlier first use is kept. Returns
  // whether the workload has changed.
  bool add(WorkloadEntry entry);
  // Sets the counters of a recording, whose identifier is 32 hexadecimal digits. If it exists, each
  // counter becomes the larger one, because counters only grow.
  void add(const std::string& recording, const WorkloadRecording& counters);
  // Adds everything of `other`. Merging is commutative, associative and idempotent, except that
  // rejected lines are appended.
  void merge(const Workload& other);

  // Returns the entries by first use, then by their text.
  std::vector<WorkloadEntry> entries() const;
  std::size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  const std::map<std::string, WorkloadRecording>& recordings() const { return recordings_; }
  // Returns the reasons for the lines that were left out. At most 100 are kept; the last one then
  // says that there are more.
  const std::vector<Error>& rejected() const { return rejected_; }

 private:
  void reject(Error error);
  Result<void> parse_line(std::string_view line);

  std::map<std::string, WorkloadEntry> entries_;  // by the text of the work
  std::map<std::string, WorkloadRecording> recordings_;
  std::vector<Error> rejected_;
};

// Adds a problem to the workload in a file, behind its entries, and creates a missing file. Returns
// the errors of Workload::read and write, and the first of rejected(), so that a damaged file is
// kept. A concurrent writer's change may be lost.
Result<void> add_to_workload(const std::string& path, const WorkloadAttention& attention,
                             const WorkloadDevice& device);
// Does the same with several entries, in their order. Their `first_use` is not read.
Result<void> add_to_workload(const std::string& path, std::vector<WorkloadEntry> entries);

}  // namespace cubinet
