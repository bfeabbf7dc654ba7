// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/decode_plan.hpp>
#include <cubinet/base/result.hpp>
#include <cubinet/kernel_table/kernel_index.hpp>
#include <cubinet/selection/selection.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace cubinet {

// The names of the backends, and the one that stands for the first that serves.
inline constexpr std::string_view kTemplatesBackend = "templates";
inline constexpr std::string_view kImportedBackend = "imported";
inline constexpr std::string_view kAutomaticBackend = "auto";

// The template behind the first, and the name of its rows' implementation.
inline constexpr std::string_view kDecodeTemplate = "attention_decode";

// What a caller knows beside the problem when it plans for our kernels.
struct DecodeHints {
  std::vector<std::int32_t> kv_lengths = {};  // of each sequence; empty: all may be as long as the longest
  KvLayout layout = KvLayout::nhd;
  std::optional<float> softmax_scale = std::nullopt;  // nullopt: 1 / sqrt(head_dim_qk)
  std::optional<int> splits = std::nullopt;           // exactly so many KV splits; nullopt: the plan decides
};

// What backends decide from, beside the problem. Rows are those that run on the device, conflicts resolved;
// a null index is one without rows.
struct BackendContext {
  DeviceFacts device;
  SelectionPolicy policy = {};
  std::shared_ptr<const KernelIndex> imported_rows = nullptr;  // of published artifacts
  std::shared_ptr<const KernelIndex> template_rows = nullptr;  // of kernels compiled from our templates
  // Whether a kernel that does not exist yet may be compiled. Otherwise a plan names an existing row.
  bool may_compile = true;
  DecodeHints decode = {};

  // Divides rows by their implementation. REQUIRES: `rows` are resolved (conflict.hpp).
  static BackendContext create(const DeviceFacts& device, const std::vector<KernelRow>& rows,
                               const SelectionPolicy& policy = {});
};

// One way to run a problem: which kernel, launched how, with how much memory. A plain value.
struct AttentionPlan {
  std::string backend;
  KernelFacts kernel;
  // The kernel's row. Without a digest it is yet to be compiled; nullopt: it is only assumed to exist.
  std::optional<KernelRow> row = std::nullopt;
  LaunchConfiguration launch;
  WorkspaceSizes workspace;
  // Of the backend `templates`: the launches, and the problem as its kernels see it.
  std::optional<DecodePlan> decode = std::nullopt;
  std::optional<DecodeProblem> decode_problem = std::nullopt;
  std::optional<Selection> selection = std::nullopt;         // of the backend `imported`, with its trace
  KernelRows rows = nullptr;                                 // that `selection` points into: kept alive
  std::optional<std::string> not_launchable = std::nullopt;  // why it can be chosen and sized only

  bool launchable() const { return !not_launchable; }
  bool exists() const { return row && row->digest != Sha256Digest{}; }
};

// Why a backend does not serve a problem: one sentence that names what it lacks.
struct BackendDecline {
  std::string backend;
  std::string reason;
  std::optional<Selection> selection = std::nullopt;  // what was looked for, where a table was searched
  KernelRows rows = nullptr;                          // that `selection` points into: kept alive
};

using Consideration = std::variant<AttentionPlan, BackendDecline>;

// An implementation of the operation. Immutable and thread-safe. Everything that it needs to know stands in
// the problem and the context: the same arguments give the same answer.
class AttentionBackend {
 public:
  virtual ~AttentionBackend() = default;
  virtual std::string_view name() const = 0;
  // REQUIRES: check_problem and check_device hold. A backend that would ignore a part of the problem (its
  // mask, its sinks) declines. An error is a failure, not a decline.
  virtual Result<Consideration> consider(const AttentionProblem& problem,
                                         const BackendContext& context) const = 0;
};

// Our own templates, compiled for the device when needed: the template `attention_decode`.
Result<std::unique_ptr<AttentionBackend>> make_template_backend();
// The rows of published artifacts: chosen, sized and verified. Their launch is declined: the structure of
// their arguments belongs to another project.
std::unique_ptr<AttentionBackend> make_imported_backend();

}  // namespace cubinet
