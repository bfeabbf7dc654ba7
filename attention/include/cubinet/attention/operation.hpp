// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/cost_model.hpp>
#include <cubinet/attention/problem.hpp>
#include <cubinet/base/result.hpp>
#include <cubinet/kernel_table/kernel_index.hpp>
#include <cubinet/kernel_table/tuning_table.hpp>
#include <cubinet/loader/function.hpp>
#include <cubinet/loader/memory.hpp>
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

// Attention in three steps: plan_attention decides, BoundAttention::bind loads and
// BoundAttention::run launches.
namespace cubinet {

class AttentionBackend;    // backend.hpp
class AttentionWorkspace;  // workspace.hpp
class Runtime;             // runtime.hpp
struct DeviceRows;         // kernel_explanation.hpp

// Selects the first backend that serves the problem.
inline constexpr std::string_view kAutomaticBackend = "auto";

// The kernels that plans may use, and the measurements of them. An implementation is a set of
// kernels with one argument layout and one planner: a template, by its name, or `trtllm-gen` for
// published kernels. A template has one table of rows. Published kernels have one table for each
// pin (each version of their package), so kernels of two versions are never compared. Each table is
// indexed for one device. A plain value whose copies share the rows.
class AvailableKernels {
 public:
  AvailableKernels() = default;  // no kernels, for any device
  // Takes the result of Runtime::rows(device). Plans use DeviceRows::rows; DeviceRows::elsewhere
  // explains why a problem is not served. Measurements are used if they were taken under
  // `device_name` (DeviceProperties::name).
  static AvailableKernels create(const DeviceRows& found, ComputeCapability device,
                                 std::string_view device_name = {});

  // Returns the tables of an implementation, the one with the highest KernelRow::version (of its
  // bundle or import) first. There is at least one; it is empty if the implementation has no rows.
  // Valid as long as a copy of this object lives.
  std::span<const std::shared_ptr<const KernelIndex>> tables(std::string_view implementation) const;
  const KernelIndex& of(std::string_view implementation) const { return *tables(implementation).front(); }
  std::optional<ComputeCapability> device() const { return device_; }  // nullopt: any

  // Replaces the measurements, for example with those that another rank has measured.
  void use_tuning(TuningTable tuning, std::string_view device_name);
  const TuningTable& tuning() const { return *tuning_; }
  const std::string& device_name() const { return device_name_; }

 private:
  std::optional<ComputeCapability> device_;
  std::string device_name_;
  std::shared_ptr<const TuningTable> tuning_ = std::make_shared<const TuningTable>();
  std::map<std::string, std::vector<std::shared_ptr<const KernelIndex>>, std::less<>> by_implementation_;
};

// The kernel that a step requests from a Runtime. monostate: the plan assumes that the kernel
// exists (PlanOptions::assumes_all_kernels), so the step cannot be launched.
using KernelRequest = std::variant<std::monostate, KernelSpec>;

// The rule that chose a plan's kernel among the kernels of its family.
enum class KernelChoice : std::uint8_t {
  backend_rules,       // the rules of the backend, which compiles nothing
  best,                // the best kernel, whether a build of it exists or not
  existing_near_best,  // the fastest existing build, within kExistingBuildFactor of the best kernel
  existing_only,       // the fastest existing build, because none may be compiled
  named,               // PlanOptions::kernel, or a measurement
};
std::string_view to_string(KernelChoice choice);  // "existing build within 1.1 of the best"

// A plan prefers an existing build to compiling the best kernel if its estimated time is at most
// this many times that of the best. Compiling takes about a second per kernel, and estimates that
// differ by less than 10 % do not tell which kernel is faster: the tuner times all of those.
inline constexpr double kExistingBuildFactor = 1.1;

struct PlanOptions {
  // The occupancy of a bound kernel as the driver reported it: CTAs per SM or, for a kernel
  // launched in clusters, clusters per device.
  struct MeasuredOccupancy {
    KernelRequest kernel;
    std::uint32_t count = 0;
  };

  std::string backend{kAutomaticBackend};
  // If true, a backend declines if its plan cannot be launched. If false, it also returns such a
  // plan, which only states the kernel, the grid and the workspace.
  bool launches = true;
  // If true, kernels that do not exist yet may be compiled. A plan then names an existing build if
  // one is within kExistingBuildFactor of the best kernel, and otherwise the best kernel. If false,
  // a plan names an existing row, and binding it compiles nothing.
  bool may_compile = true;
  // If false, binding the plan uses kernels that are loaded already. It returns not_found, with the
  // kernel's name, for any other, and compiles and loads nothing, as a capture requires.
  bool may_load = true;
  // If true, every kernel that the selection rules name is assumed to exist, and the kernel table
  // is not read.
  bool assumes_all_kernels = false;
  // If true, the operation's first kernel may start before its predecessor in the stream ends
  // (programmatic dependent launch, 9.0 and up). It waits before it reads anything. Later kernels
  // of the plan may always start early, and do if that is faster.
  bool starts_early = false;
  // If true, plans and refusals contain a readable explanation and the nearest rows.
  bool explains = false;
  TargetPolicy targets = {};
  // Forces the attention kernel. Must be a complete specification, as in `PlanStep::kernel`.
  // nullopt: the plan decides. A backend that would not use the kernel for the problem declines.
  std::optional<KernelSpec> kernel = std::nullopt;
  // Forces the number of KV splits. nullopt: the plan decides.
  std::optional<std::uint32_t> splits = std::nullopt;
  // Sets the tokens of each KV split, a multiple of 128. Splits are counted from the first visible
  // token of a sequence, so the result of a sequence has the same bits in every batch. Backends
  // that cannot do this decline.
  std::optional<std::uint32_t> split_tokens = std::nullopt;
  // Selects published kernels by the rules of this version of FlashInfer, such as "0.6.17".
  // nullopt: the newest version that has the rows' metadata header. Planning returns an error
  // (invalid_argument) if the version is unknown.
  std::optional<std::string> rules = std::nullopt;
  // If true, measurements on the device (AvailableKernels::tuning) take precedence over the cost
  // model and the order of the backends, unless `kernel`, `splits` or `split_tokens` is set.
  bool uses_tuning = true;
  std::shared_ptr<const CostModel> costs = nullptr;  // null: default_cost_model()
  // Measured occupancies, which a plan does not exceed. bind() sets them when it plans once more.
  std::vector<MeasuredOccupancy> occupancy = {};
};

// The whole input of a backend. Equal requests give equal answers.
struct PlanRequest {
  AttentionProblem problem;
  DeviceFacts device;
  AvailableKernels kernels;
  PlanOptions options;

  const CostModel& costs() const;
  // Returns nullopt if the driver was not queried.
  std::optional<std::uint32_t> occupancy_of(const KernelRequest& kernel) const;
};

// The device memory that a run needs besides its tensors, in bytes. It consists of two buffers,
// counters and scratch. Each is used on one stream at a time and is aligned to kWorkspaceAlignment.
// AttentionWorkspace allocates both; callers may allocate them instead.
//
// Counters must be zero before the first run that uses them. Every run leaves them zero, so they
// are never cleared again. The scratch buffer keeps nothing between runs.
struct WorkspaceSizes {
  std::uint64_t counter_bytes = 0;
  std::uint64_t softmax_stats_bytes = 0;   // at the beginning of the scratch buffer
  std::uint64_t partial_stats_offset = 0;  // from the beginning of the scratch buffer
  std::uint64_t partial_stats_bytes = 0;
  std::uint64_t partial_output_offset = 0;
  std::uint64_t partial_output_bytes = 0;
  std::uint64_t scratch_bytes = 0;  // the whole scratch buffer

  friend bool operator==(const WorkspaceSizes&, const WorkspaceSizes&) = default;
};
inline constexpr std::uint64_t kWorkspaceAlignment = 256;

// A tensor on the device. Its innermost dimension is contiguous. The strides of the others count
// elements, outermost first, and are all 0 for a contiguous tensor.
struct DeviceTensor {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;  // bytes from the address on that belong to the tensor
  std::array<std::int64_t, 3> strides = {0, 0, 0};

  DeviceTensor() = default;
  DeviceTensor(std::uint64_t begin, std::uint64_t size, std::array<std::int64_t, 3> element_strides = {})
      : address(begin), bytes(size), strides(element_strides) {}
  // Refers to the whole buffer as a contiguous tensor. The buffer must outlive all runs with it.
  DeviceTensor(const DeviceBuffer& buffer) : DeviceTensor(buffer.address(), buffer.size()) {}
  DeviceTensor(DeviceBuffer&& buffer) = delete;  // a temporary is freed before the run

  bool is_contiguous() const { return strides == std::array<std::int64_t, 3>{0, 0, 0}; }
};

// The tensors of one run. The addresses and strides of q, k, v, o, new_q, new_k and new_v are
// multiples of 16 bytes, and so are the addresses of cos_sin and the block scales. Strides of
// tensors whose rows are no multiples of 16 bytes are multiples of 8 bytes. The addresses of
// scratch and counters are multiples of kWorkspaceAlignment. Other addresses are multiples of 4.
struct AttentionTensors {
  // [batch, q_len, heads_q, head_dim_qk]. With ragged_q: [tokens, heads_q, head_dim_qk], whose
  // first stride is ignored.
  DeviceTensor q = {};
  // The paged KV pool. AttentionProblem states the order of its dimensions; the strides are always
  // those of page, token and head. With contiguous_kv: [batch, kv_len, heads_kv, head_dim_qk]. With
  // separate_qkv: [tokens, heads_kv, head_dim_qk], one sequence after the other; the first stride
  // is ignored.
  DeviceTensor k = {};
  DeviceTensor v = {};  // like `k`, with memory for as many tokens
  DeviceTensor o = {};  // like `q`, with head_dim_v columns and memory for as many tokens
  // [all tokens of `q`, heads_q], fp32, natural logarithm, contiguous. Address 0: not written.
  DeviceTensor lse = {};
  // [batch, pages_per_sequence()], int32: the index in the pool of each page of a sequence. The
  // stride is the number of entries from one sequence to the next. With separate_page_tables:
  // [batch, 2, pages_per_sequence()], contiguous, first the pages of K, then those of V.
  DeviceTensor page_table = {};
  // [batch], int32, contiguous. 0 is allowed; a value above kv_len counts as kv_len.
  DeviceTensor kv_lengths = {};
  DeviceTensor sinks = {};  // [heads_q], fp32, with sinks: the logit of each head
  // [batch, q_len, mask_words()], uint32, contiguous, with a custom mask. With ragged_q: [tokens,
  // mask_words()]. If bit j % 32 of word j / 32 of a query token is set, the token sees query token
  // j of its sequence. Tokens before the query tokens are visible within the window.
  DeviceTensor mask = {};
  // [batch + 1], int32: the index in Q of the first token of each sequence, then the number of
  // tokens. Required if AttentionPlan::TensorRules::reads_offsets is true.
  DeviceTensor q_offsets = {};
  // The same for the tokens of K and V. Required if reads_kv_offsets is true.
  DeviceTensor kv_offsets = {};
  // Block scales, e4m3, one for 16 elements. Required for K and V of e2m1: [pages, heads_kv, page
  // size * head dim / 16], contiguous.
  DeviceTensor k_block_scales = {};
  DeviceTensor v_block_scales = {};
  // Required for O of e2m1, and written: one byte for 16 elements, in the order of the published
  // kernel.
  DeviceTensor o_block_scales = {};
  DeviceTensor softmax_scale = {};  // one fp32, already multiplied by log2(e); required if scales_on_device
  DeviceTensor output_scale = {};   // one fp32; required if scales_on_device
  // AttentionProblem::kv_scales requires these two, and a run without it refuses them. They are
  // [heads_kv], fp32, contiguous, finite and above 0. KvScales::sequence makes them [batch,
  // heads_kv], with a first stride of heads_kv or more.
  DeviceTensor k_head_scales = {};
  DeviceTensor v_head_scales = {};
  DeviceTensor scratch = {};   // WorkspaceSizes::scratch_bytes
  DeviceTensor counters = {};  // WorkspaceSizes::counter_bytes
  // The new rows that AttentionProblem::append writes to `q`, `k` and `v`: [batch, q_len, heads,
  // head dim] of Append::data_type, laid out like `q`. `new_k` and `new_v` are required with an
  // append. `new_q` is required if appends_q() is true, and may be `q` itself if type and strides
  // are equal. The three may be parts of one tensor, selected by strides.
  DeviceTensor new_q = {};
  DeviceTensor new_k = {};
  DeviceTensor new_v = {};
  // [batch, q_len], int32, contiguous; with ragged_q: [tokens]. The position of each token of Q.
  // Required if Append::positions is true.
  DeviceTensor positions = {};
  // [positions, rope_dim], fp32, contiguous: rope_table(). Required if Append::rope_dim is not 0.
  DeviceTensor cos_sin = {};
  // One fp32 each: the scales that replace Append::q_scale, k_scale and v_scale. Required with an
  // append and scales_on_device, for each of Q, K and V that is stored as e4m3.
  DeviceTensor q_scale = {};
  DeviceTensor k_scale = {};
  DeviceTensor v_scale = {};
};

// A tensor map in a kernel's argument, to be encoded by the driver at `offset`.
struct PlacedTensorMap {
  std::uint32_t offset = 0;  // bytes, a multiple of 64
  TensorMapDescription description;
};
inline constexpr std::size_t kMaximumTensorMaps = 8;

// A writer of the single by-value argument of a kernel. Immutable and thread-safe.
class ArgumentWriter {
 public:
  virtual ~ArgumentWriter() = default;
  virtual std::size_t size() const = 0;  // bytes, at most kMaximumArgumentBytes
  // Writes the part that does not depend on the tensors. Called once, when the plan is bound.
  virtual void prepare(std::span<std::byte> argument) const = 0;
  // Writes the rest over the result of prepare(). Called once per run, except that a run whose
  // tensors equal those of an earlier run may reuse an argument with tensor maps. The result must
  // therefore depend on the tensors alone. Must neither allocate nor block.
  virtual void write(const AttentionTensors& tensors, std::span<std::byte> argument) const = 0;
  // Fills in the tensor maps of the argument and returns their number. Called after write(), and
  // once with empty tensors when the plan is bound.
  virtual std::size_t tensor_maps(const AttentionTensors& /*tensors*/,
                                  std::span<PlacedTensorMap, kMaximumTensorMaps> /*maps*/) const {
    return 0;
  }
};
inline constexpr std::size_t kMaximumArgumentBytes = 4096;  // CUDA's limit before 12.1

// One launch. The steps of a plan run in order on one stream.
struct PlanStep {
  KernelRequest kernel;
  std::string entry_point;  // the function of the kernel that is launched
  std::array<std::uint32_t, 3> grid = {1, 1, 1};
  std::uint32_t cluster_x = 1;     // size of a cluster in x; launched with the spread scheduling policy
  std::uint32_t threads = 0;       // threads of a block
  std::uint32_t shared_bytes = 0;  // dynamic shared memory of a block
  bool starts_early = false;       // PlanOptions::starts_early
  // The occupancy (MeasuredOccupancy::count) that the plan counts on. 0: none.
  std::uint32_t counts_on = 0;
  // Steps that share a writer share its argument.
  std::shared_ptr<const ArgumentWriter> arguments = nullptr;
};

// The division of the rows of Q and the tokens of KV among blocks.
struct WorkDivision {
  std::uint32_t kv_splits = 1;
  // The method that combines the results of the splits.
  MultiCtasKvMode kv_mode = MultiCtasKvMode::disabled;
  std::uint32_t heads_per_block = 1;
  std::uint32_t tokens_per_block = 1;  // tokens of Q
  std::uint32_t wasted_rows = 0;       // unused rows of a full tile
};

// The kernels that run a problem, their launch configurations and the memory they need. Valid for
// all tensors and lengths of the problem, so a run may be captured in a CUDA graph. A plain value.
struct AttentionPlan {
  // The requirements of a plan's kernels on the tensors of a run, in addition to the problem's.
  struct TensorRules {
    bool reads_offsets = false;     // if true, q_offsets is required
    bool reads_kv_offsets = false;  // if true, kv_offsets is required
    bool contiguous_o = false;      // if true, O must be contiguous
    // If true, the LSE is written only if the problem requests it, and with q_len rows for each
    // sequence, however many tokens it has.
    bool lse_as_planned = false;
    // If true, the kernel indexes with int32: the number of pages and the stride of the page table
    // must be below 2^31.
    bool counts_in_31_bits = false;
    // Tokens of K and V that are read as one row. If above 1, the tokens of a KV head must be
    // contiguous in a page.
    std::uint32_t kv_tokens_per_row = 1;
  };
  // A tile that the cost model compared.
  struct Candidate {
    std::uint16_t tile_size_q = 0;
    bool exists = false;  // if false, the members below are 0
    std::uint32_t kv_splits = 0;
    std::uint64_t blocks = 0;
    double time = 0;
  };

  PlanRequest request;                              // the request that the plan answers
  std::shared_ptr<const AttentionBackend> backend;  // the backend that made the plan
  std::vector<PlanStep> steps;                      // at least one
  WorkspaceSizes workspace;
  TensorRules rules;
  WorkDivision division;
  // The row of the main attention kernel, steps[attention_step()]. If it has no digest, the kernel
  // is not compiled yet. If it has no function name, the kernel is only assumed to exist.
  KernelRow row;
  KernelCost cost;  // the cost of the same step by the cost model
  // The time by which a backend compared the plan with others. If the problem states no lengths, it
  // also counts shorter and uneven ones. 0: cost.time.
  double compared_time = 0;
  KernelChoice choice = KernelChoice::backend_rules;
  // The version of the kernel's source: the interface version and text of a template, or the pin of
  // a published kernel. Measurements of other versions are not used.
  std::string kernel_version;
  // The measurement that decided, with its date and device. Empty: the cost model and the rules
  // decided.
  std::string measured;
  std::vector<Candidate> candidates;  // empty if tiles were not compared
  // The passes of the selection of a published kernel: one, and one for each refinement that
  // replaced the kernel (docs/selection.md). 1 for templates.
  std::uint32_t passes = 1;
  // The reasons of the choice. Filled if the request asks for an explanation.
  std::vector<std::string> trace;
  // The reason why the plan cannot be launched. Empty if it can.
  std::string not_launchable;

  bool launchable() const { return not_launchable.empty(); }
  bool exists() const { return row.digest != Sha256Digest{}; }
  // Returns 1 if the append precedes the attention kernel, otherwise 0.
  std::size_t attention_step() const {
    return request.problem.append && request.problem.append->attends ? 1 : 0;
  }
  std::string_view backend_name() const;
};

// A plan with its kernels loaded on one device. A cheap handle, immutable and thread-safe. It keeps
// its modules loaded even after Runtime::release() and Runtime::trim(). A graph that captured a run
// keeps them too, so the handle may end before the graph. The tensors and the workspace of a
// captured run must live as long as the graph is launched.
class BoundAttention {
 public:
  // Finds and loads every step's kernel and compiles missing ones. Queries the driver for the
  // occupancy of each kernel. If it is below the plan's, plans once more with the reported values;
  // plan() returns the plan that is bound. Returns unsupported for a plan that is not launchable,
  // invalid_argument for a device whose capability or SM count differs from the plan's, or an error
  // of the Runtime.
  //
  // The Runtime chooses builds by its own RuntimeOptions::targets. Returns invalid_argument in
  // three cases: PlanOptions::targets does not allow the target of a loaded build; the build of the
  // attention kernel has another target than the plan's row, although the kernel existed when the
  // plan was made; or it has another target, the kernel did not exist, and PlanOptions::targets is
  // neither the default nor the Runtime's policy. plan() states the loaded target. Returns
  // not_found if the plan may not compile and no build exists, or if it may not load and a kernel
  // is not loaded.
  static Result<BoundAttention> bind(Runtime& runtime, const AttentionPlan& plan, int device);

  const AttentionPlan& plan() const;
  const std::vector<Function>& functions() const;  // in the order of the plan's steps

  // Allocates the plan's workspace on its device and zeroes the counters. Call it once for each
  // stream. Returns errors of the driver.
  Result<AttentionWorkspace> make_workspace() const;

  // Launches the plan's steps on the stream. Allocates nothing outside a capture, waits for nothing
  // and copies nothing, so it may be captured in a graph and replayed with any lengths up to
  // kv_len. Runs that may overlap need separate workspaces: one for each stream. The device's
  // context need not be current. Returns an error (invalid_argument) that names a tensor with a
  // wrong address, size, stride or alignment, and the required value.
  Result<void> run(const AttentionTensors& tensors, CUstream stream) const;

  // Makes the checks of run(), and queries the driver whether every tensor is in the device's
  // memory. Call it once, when the buffers are allocated.
  Result<void> check(const AttentionTensors& tensors) const;

 private:
  struct Binding;
  explicit BoundAttention(std::shared_ptr<const Binding> binding) : binding_(std::move(binding)) {}
  static Result<BoundAttention> load(Runtime& runtime, const AttentionPlan& plan, int device);
  // Returns the driver's occupancy of each step for which it is below PlanStep::counts_on.
  Result<std::vector<PlanOptions::MeasuredOccupancy>> shortfalls() const;

  std::shared_ptr<const Binding> binding_;
};

}  // namespace cubinet
