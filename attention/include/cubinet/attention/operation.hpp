// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/cost_model.hpp>
#include <cubinet/attention/problem.hpp>
#include <cubinet/base/result.hpp>
#include <cubinet/kernel_table/kernel_index.hpp>
#include <cubinet/kernel_table/tuning_table.hpp>
#include <cubinet/loader/function.hpp>
#include <cubinet/loader/tensor_map.hpp>
#include <cubinet/spec/kernel_spec.hpp>
#include <cubinet/spec/target_policy.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

// Attention in three steps: plan_attention decides, BoundAttention::bind loads, BoundAttention::run launches.
namespace cubinet {

class AttentionBackend;    // backend.hpp
class AttentionWorkspace;  // workspace.hpp
class Runtime;             // runtime.hpp
struct DeviceRows;         // kernel_explanation.hpp

// The name that stands for the first backend that serves.
inline constexpr std::string_view kAutomaticBackend = "auto";

// The kernels that there are to plan with: rows by their implementation and, of published ones, by the pin of
// the metadata that lists them, each table indexed for one device: rows of two versions of a package never
// compete; and what was measured of them. A plain value whose copies share the rows.
class AvailableKernels {
 public:
  AvailableKernels() = default;  // none, for any device
  // Takes what Runtime::rows(device) found. Plans use DeviceRows::rows; DeviceRows::elsewhere explains why a
  // problem is not served. Measurements are used if `device_name` is the name that they were taken under
  // (DeviceProperties::name).
  static AvailableKernels create(const DeviceRows& found, ComputeCapability device,
                                 std::string_view device_name = {});

  // The tables of an implementation, the one pinned last first; at least one, which is without rows where
  // there are none of the implementation. Valid as long as a copy of this lives.
  std::span<const std::shared_ptr<const KernelIndex>> tables(std::string_view implementation) const;
  const KernelIndex& of(std::string_view implementation) const { return *tables(implementation).front(); }
  std::optional<ComputeCapability> device() const { return device_; }  // nullopt: any

  // Other measurements instead: those of the rank that has tuned, say.
  void use_tuning(TuningTable tuning, std::string_view device_name);
  const TuningTable& tuning() const { return *tuning_; }
  const std::string& device_name() const { return device_name_; }

 private:
  std::optional<ComputeCapability> device_;
  std::string device_name_;
  std::shared_ptr<const TuningTable> tuning_ = std::make_shared<const TuningTable>();
  std::map<std::string, std::vector<std::shared_ptr<const KernelIndex>>, std::less<>> by_implementation_;
};

// What a step asks a Runtime for. Nothing: a kernel that is only assumed to exist.
using KernelRequest = std::variant<std::monostate, KernelSpec>;

struct PlanOptions {
  // What a driver said of a kernel when it was bound: blocks of it that a multiprocessor holds at once or,
  // for one that is launched in clusters, clusters that the device holds.
  struct MeasuredOccupancy {
    KernelRequest kernel;
    std::uint32_t count = 0;
  };

  std::string backend{kAutomaticBackend};
  // If true, a backend whose plan cannot be launched declines. If false, such a plan is returned too: it
  // names and sizes the kernel.
  bool launches = true;
  // Whether a kernel that does not exist yet may be compiled. Otherwise a plan names an existing row, and
  // binding it has nothing compiled.
  bool may_compile = true;
  bool assumes_all_kernels = false;  // every row that a rule names is taken to exist; no row is read
  // The operation's first kernel may start before its predecessor in the stream ends (programmatic dependent
  // launch, 9.0 and up): it waits itself before it reads anything. Kernels behind the first may always, and
  // do where that wins.
  bool starts_early = false;
  bool explains = false;  // the plan and the declines carry lines for people, and the nearest rows
  TargetPolicy targets = {};
  // Of that which attends, complete, as a plan's step names it; nullopt: the plan decides. A backend that
  // would not take it for the problem declines.
  std::optional<KernelSpec> kernel = std::nullopt;
  std::optional<std::uint32_t> splits = std::nullopt;  // so many KV splits; nullopt: the plan decides
  // KV splits of so many tokens each, a multiple of 128, from where a sequence's visible tokens begin: what
  // is computed of a sequence then has the same bits in every batch. Backends that cannot decline.
  std::optional<std::uint32_t> split_tokens = std::nullopt;
  // What was measured on the device (AvailableKernels::tuning) goes before the cost model and the order of
  // the backends, unless kernel, splits or split_tokens are given.
  bool uses_tuning = true;
  std::shared_ptr<const CostModel> costs = nullptr;  // null: default_cost_model()
  std::vector<MeasuredOccupancy> occupancy = {};     // a plan counts on no more; bind fills it
};

// All that a backend decides from. The same request gives the same answer.
struct PlanRequest {
  AttentionProblem problem;
  DeviceFacts device;
  AvailableKernels kernels;
  PlanOptions options;

  const CostModel& costs() const;
  // nullopt where no driver was asked.
  std::optional<std::uint32_t> occupancy_of(const KernelRequest& kernel) const;
};

// The device memory that a run needs beside its tensors, in bytes. Both buffers belong to one stream at a
// time and are aligned to kWorkspaceAlignment. AttentionWorkspace allocates them; callers may do so
// themselves.
//
// Counters must be zero before the first run that uses them. Every run leaves them zero, so they are never
// cleared again. The scratch buffer keeps nothing between runs.
struct WorkspaceSizes {
  std::uint64_t counter_bytes = 0;
  std::uint64_t softmax_stats_bytes = 0;   // at the beginning of the scratch buffer
  std::uint64_t partial_stats_offset = 0;  // in the scratch buffer
  std::uint64_t partial_stats_bytes = 0;
  std::uint64_t partial_output_offset = 0;
  std::uint64_t partial_output_bytes = 0;
  std::uint64_t scratch_bytes = 0;  // the whole scratch buffer

  friend bool operator==(const WorkspaceSizes&, const WorkspaceSizes&) = default;
};
inline constexpr std::uint64_t kWorkspaceAlignment = 256;

// A tensor on the device. Its innermost dimension is contiguous; the strides of the others count elements,
// outermost first, and are all 0 for a contiguous tensor.
struct DeviceTensor {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;  // that belong to it from the address on
  std::array<std::int64_t, 3> strides = {0, 0, 0};

  bool is_contiguous() const { return strides == std::array<std::int64_t, 3>{0, 0, 0}; }
};

// The tensors of one run. Q, K, V and O begin, and step, at multiples of 16 bytes, the workspace at multiples
// of kWorkspaceAlignment, the others at multiples of 4.
struct AttentionTensors {
  // [batch, q_len, heads_q, head_dim_qk]; with ragged_q [tokens, heads_q, head_dim_qk], whose first stride is
  // not looked at.
  DeviceTensor q;
  // A pool of pages in the problem's order; strides: page, token, head. With separate_qkv [tokens, heads_kv,
  // head_dim_qk], the sequences side by side.
  DeviceTensor k;
  DeviceTensor v;    // the same
  DeviceTensor o;    // as q, of head_dim_v
  DeviceTensor lse;  // [tokens of all, heads_q] fp32, natural logarithm, contiguous; address 0: not wanted
  // [batch, pages_per_sequence()] int32; strides: that of a sequence. With separate_page_tables
  // [batch, 2, pages_per_sequence()], contiguous: first the pages of K, then those of V.
  DeviceTensor page_table;
  DeviceTensor kv_lengths;  // [batch] int32, contiguous; 0 is allowed, what passes kv_len is cut to it
  DeviceTensor sinks;       // [heads_q] fp32: with sinks, the logit of each head
  // [batch, q_len, mask_words()] uint32, contiguous; with ragged_q [tokens, mask_words()]: with a custom
  // mask. Bit j % 32 of word j / 32 of a query token says whether it sees its sequence's query token j; it
  // sees all that lies before them, within the window.
  DeviceTensor mask;
  // [batch + 1] int32: where each sequence's tokens begin in Q, and in K and V; the last is their number. Of
  // AttentionPlan::TensorRules::reads_offsets.
  DeviceTensor q_offsets;
  DeviceTensor kv_offsets;
  // A scale for each 16 elements of K, V (e2m1; of a page, then a head, then its tokens and columns) and O.
  DeviceTensor k_block_scales;
  DeviceTensor v_block_scales;
  DeviceTensor o_block_scales;
  DeviceTensor softmax_scale;  // one fp32, times log2(e): with scales_on_device
  DeviceTensor output_scale;   // one fp32: the same
  DeviceTensor scratch;        // WorkspaceSizes::scratch_bytes
  DeviceTensor counters;       // WorkspaceSizes::counter_bytes
  // With AttentionProblem::append: the new rows, of its type, [batch, q_len, heads, head dim] as q. new_q,
  // where appends_q(), may be q itself; q, k and v are then written. Parts of one tensor by their strides.
  DeviceTensor new_q;
  DeviceTensor new_k;
  DeviceTensor new_v;
  DeviceTensor positions;  // int32, one a token as they lie in Q: with Append::positions
  DeviceTensor cos_sin;    // [positions, rope_dim] fp32, contiguous: with Append::rope_dim (rope_table)
  DeviceTensor q_scale;    // one fp32 each: with scales_on_device, of what is stored as e4m3
  DeviceTensor k_scale;
  DeviceTensor v_scale;
};

// A tensor map in a kernel's argument, where the driver's encoding of it goes.
struct PlacedTensorMap {
  std::uint32_t offset = 0;  // bytes, a multiple of 64
  TensorMapDescription description;
};
inline constexpr std::size_t kMaximumTensorMaps = 8;

// One who writes the one argument that a kernel takes by value. Immutable and thread-safe.
class ArgumentWriter {
 public:
  virtual ~ArgumentWriter() = default;
  virtual std::size_t size() const = 0;  // bytes, at most kMaximumArgumentBytes
  // All that does not depend on the tensors: once, when the plan is bound.
  virtual void prepare(std::span<std::byte> argument) const = 0;
  // The rest, over what prepare() left: at every run or, with tensor maps, at one with other tensors than
  // before, whose argument is kept. So it depends on them alone. Must neither allocate nor wait.
  virtual void write(const AttentionTensors& tensors, std::span<std::byte> argument) const = 0;
  // The tensor maps of the argument, how many; they are asked for where write() is.
  virtual std::size_t tensor_maps(const AttentionTensors& /*tensors*/,
                                  std::span<PlacedTensorMap, kMaximumTensorMaps> /*maps*/) const {
    return 0;
  }
};
inline constexpr std::size_t kMaximumArgumentBytes = 4096;  // CUDA's limit before 12.1

// One launch. Steps of a plan follow one another on one stream.
struct PlanStep {
  KernelRequest kernel;
  std::string entry_point;  // of a specification
  std::array<std::uint32_t, 3> grid = {1, 1, 1};
  std::uint32_t cluster_x = 1;     // blocks of a cluster, in x, spread over multiprocessors
  std::uint32_t threads = 0;       // of a block
  std::uint32_t shared_bytes = 0;  // dynamic, of a block
  bool starts_early = false;       // PlanOptions::starts_early
  // The occupancy (MeasuredOccupancy::count) that the plan counts on; 0: it counts on none.
  std::uint32_t counts_on = 0;
  std::shared_ptr<const ArgumentWriter> arguments = nullptr;  // steps that share one share its argument
};

// How the rows of Q and the tokens of KV are divided among blocks.
struct WorkDivision {
  std::uint32_t kv_splits = 1;
  MultiCtasKvMode kv_mode = MultiCtasKvMode::disabled;  // how the splits' results are brought together
  std::uint32_t heads_per_block = 1;
  std::uint32_t tokens_per_block = 1;  // of Q
  std::uint32_t wasted_rows = 0;       // rows of a full tile that hold nothing
};

// One way to run a problem: which kernels, launched how, with how much memory. Valid for every set of tensors
// and lengths of the problem, so that a run may be captured in a CUDA graph. A plain value.
struct AttentionPlan {
  // What the kernels of a plan want of a run's tensors beyond what the problem says.
  struct TensorRules {
    bool reads_offsets = false;   // q_offsets, in prefill kv_offsets too, have to be given
    bool contiguous_o = false;    // O has no strides of its own
    bool lse_as_planned = false;  // the LSE is written only where the problem has it
    // The kernel counts pages, and entries between two rows of the page table, in an int32.
    bool counts_in_31_bits = false;
    // Tokens of K and V that are read as one row: those of a KV head lie one behind the other in a page.
    std::uint32_t kv_tokens_per_row = 1;
  };
  // A tile that the cost model compared.
  struct Candidate {
    std::uint16_t tile_size_q = 0;
    bool exists = false;  // otherwise the rest is 0
    std::uint32_t kv_splits = 0;
    std::uint64_t blocks = 0;
    double time = 0;
  };

  PlanRequest request;                              // that it answers
  std::shared_ptr<const AttentionBackend> backend;  // that made it
  std::vector<PlanStep> steps;                      // at least one
  WorkspaceSizes workspace;
  TensorRules rules;
  WorkDivision division;
  // The row of the kernel that attends first, of steps[attention_step()]. Without a digest it is yet to be
  // compiled; without a function name it is only assumed to exist.
  KernelRow row;
  KernelCost cost;  // of the same step by the cost model
  // Which build of the kernel's source: a template's interface version and text, the pin of what is
  // published. What was measured of another says nothing of it.
  std::string kernel_version;
  // What was measured, when, on which device, where that decided; empty: the cost model and the rules did.
  std::string measured;
  std::vector<Candidate> candidates;  // empty where tiles were not compared
  std::uint32_t passes = 1;           // kernels looked at one after the other, the chosen one last
  std::vector<std::string> trace;     // what was weighed, where the request asks for it
  std::string not_launchable;         // why it can be chosen and sized only; empty: it can be launched

  bool launchable() const { return not_launchable.empty(); }
  bool exists() const { return row.digest != Sha256Digest{}; }
  // Before it may stand the append.
  std::size_t attention_step() const {
    return request.problem.append && request.problem.append->attends ? 1 : 0;
  }
  std::string_view backend_name() const;
};

// A plan with its kernels loaded on one device. A cheap handle, immutable and thread-safe; it keeps its
// modules loaded, whatever Runtime::release() forgets. A CUDA graph of its runs needs it, or a copy, for as
// long as it is launched.
class BoundAttention {
 public:
  // Finds and loads every step's kernel, compiling what has to be. Asks the driver how many blocks of each
  // kernel fit at once and, where that is fewer than the plan counts on, plans anew with what it said, once;
  // plan() is the plan that is bound. unsupported for a plan that is not launchable, invalid_argument for a
  // device of another capability or number of multiprocessors than the plan's, else the Runtime's errors.
  //
  // The Runtime takes builds by its own RuntimeOptions::targets: invalid_argument where what it loads is not
  // for the target of the plan's row, or one that PlanOptions::targets refuses. Of a kernel that had yet to
  // be made that target is a forecast, unless the two differ in their wishes: plan() says what was loaded.
  // not_found where the plan may have nothing compiled and no build is there.
  static Result<BoundAttention> bind(Runtime& runtime, const AttentionPlan& plan, int device);

  const AttentionPlan& plan() const;
  const std::vector<Function>& functions() const;  // of the plan's steps

  // Allocates the plan's workspace on its device and zeroes the counters. Needed once for each stream. Driver
  // errors are returned.
  Result<AttentionWorkspace> make_workspace() const;

  // Launches the plan's steps on the stream and does nothing else: it allocates nothing, waits for nothing
  // and copies nothing, so it may be captured in a graph and replayed with any lengths up to kv_len. Runs
  // that may overlap need a workspace each: one a stream. Whether the device's context is current makes no
  // difference. invalid_argument names a tensor whose address, size, stride or alignment does not fit, and
  // what would.
  Result<void> run(const AttentionTensors& tensors, CUstream stream) const;

  // The checks of run(), and that every tensor lies on the device, which the driver is asked for each of
  // them: for once, when buffers are made.
  Result<void> check(const AttentionTensors& tensors) const;

 private:
  struct Binding;
  explicit BoundAttention(std::shared_ptr<const Binding> binding) : binding_(std::move(binding)) {}
  static Result<BoundAttention> load(Runtime& runtime, const AttentionPlan& plan, int device);
  // What the driver says of the steps that count on more; empty: of none.
  Result<std::vector<PlanOptions::MeasuredOccupancy>> shortfalls() const;

  std::shared_ptr<const Binding> binding_;
};

}  // namespace cubinet
