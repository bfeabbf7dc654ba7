// SPDX-License-Identifier: Apache-2.0
#include "benchmarks.hpp"
#include "decode_problems.hpp"
#include "decode_timing.hpp"

#include <cubinet/attention/reference_values.hpp>
#include <cubinet/base/file_system.hpp>
#include <cubinet/cubin_registry/bundle.hpp>
#include <cubinet/loader/stream.hpp>

#include <algorithm>
#include <cmath>

namespace cubinet::bench {
namespace {

constexpr double kTolerance = 1e-2;  // ||o - ref|| / ||ref|| of every row, with bf16 output
constexpr std::uint64_t kSeed = 20261121;

// Returns lengths beside the borders of a page and of a split, from the longest length down, and
// lengths near and at 0.
std::vector<std::int32_t> further_lengths(const AttentionProblem& problem) {
  const auto longest = static_cast<std::int32_t>(problem.kv_len);
  const auto page = static_cast<std::int32_t>(problem.tokens_per_page);
  std::vector<std::int32_t> lengths = {longest - 1, longest - page + 1, longest / 2 + 1, 1, 0};
  for (std::int32_t& length : lengths)
    length = std::clamp(length, 0, longest);
  return lengths;
}

// A path to the kernels: a Runtime and the work until it has them.
struct Path {
  const char* name;
  KernelSource expected;
  double seconds = 0;
  BoundAttention attention;
};

// Returns the specification of a plan. REQUIRES: a plan of our templates.
const KernelSpec& specification_of(const AttentionPlan& plan) {
  return std::get<KernelSpec>(plan.steps.front().kernel);
}

class DecodeBench {
 public:
  DecodeBench(const Settings& settings, const DecodeOptions& options, std::shared_ptr<const Device> device,
              Stream stream)
      : settings_(settings), options_(options), device_(std::move(device)), stream_(std::move(stream)) {}

  Result<void> run(const NamedProblem& named, Report& report) {
    nlohmann::json row = {{"name", named.name}, {"unit", "us"}};
    CUBINET_TRY(check_all_paths(named.problem, row));
    if (options_.time) CUBINET_TRY(time(named, row));
    report.add(std::move(row));
    return {};
  }

  bool all_within_tolerance() const { return all_within_tolerance_; }

 private:
  Result<void> check_all_paths(const AttentionProblem& problem, nlohmann::json& row) {
    const std::vector<std::int32_t> lengths = make_kv_lengths(problem, LengthPattern::borders);
    CUBINET_TRY_ASSIGN(const AttentionInputs inputs, make_attention_inputs(problem, lengths, kSeed));
    CUBINET_TRY_ASSIGN(const AttentionPlan plan, plan_decode_on(*device_, problem));
    CUBINET_TRY_ASSIGN(const TensorBuffers buffers,
                       TensorBuffers::create(device_, problem, inputs, plan.workspace));
    const double reference_start = now_seconds();
    CUBINET_TRY_ASSIGN(const AttentionOutputs reference, attention_reference(problem, inputs));
    row["reference_seconds"] = now_seconds() - reference_start;
    row["specification"] = specification_of(plan).to_string();
    row["splits"] = plan.division.kv_splits;
    row["rows_compared"] = reference.lse.size();
    CUBINET_TRY_ASSIGN(const std::vector<Path> paths, walk_paths(plan));
    for (const Path& path : paths) {
      CUBINET_TRY_ASSIGN(const AttentionDeviation error, run_compared(path.attention, buffers, reference));
      row["paths"][path.name] = judge(error);
      row["paths"][path.name]["to_launchable_us"] = path.seconds * 1e6;
    }
    // A batch of one tests one border at a time, and its KV is split.
    if (problem.batch == 1) return check_further_lengths(problem, paths.back().attention, row);
    return {};
  }

  Result<void> check_further_lengths(const AttentionProblem& problem, const BoundAttention& attention,
                                     nlohmann::json& row) {
    const std::vector<std::int32_t> lengths = further_lengths(problem);
    AttentionDeviation worst;
    for (const std::int32_t length : lengths) {
      CUBINET_TRY_ASSIGN(const AttentionInputs inputs, make_attention_inputs(problem, {length}, kSeed));
      // The plan depends on the problem alone and serves every length.
      CUBINET_TRY_ASSIGN(const TensorBuffers buffers,
                         TensorBuffers::create(device_, problem, inputs, attention.plan().workspace));
      CUBINET_TRY_ASSIGN(const AttentionOutputs reference, attention_reference(problem, inputs));
      CUBINET_TRY_ASSIGN(const AttentionDeviation error, run_compared(attention, buffers, reference));
      worst.worst_row = std::max(worst.worst_row, error.worst_row);
      worst.worst_lse = std::max(worst.worst_lse, error.worst_lse);
    }
    row["further_lengths"] = judge(worst);
    row["further_lengths"]["lengths"] = lengths;
    return {};
  }

  // Returns text for infinity, which JSON lacks.
  static nlohmann::json finite_or_text(double value) {
    if (std::isfinite(value)) return value;
    return "not finite";
  }

  Result<std::vector<Path>> walk_paths(const AttentionPlan& plan) {
    const std::filesystem::path home = fresh_path(settings_, "home");
    const std::filesystem::path bundle = fresh_path(settings_, "decode.cubundle");
    std::vector<Path> paths;
    std::shared_ptr<Runtime> runtime;
    CUBINET_TRY_ASSIGN(Path compiled,
                       walk("empty registry", KernelSource::compiled, home, {}, plan, runtime));
    paths.push_back(std::move(compiled));
    std::vector<Cubin> cubins;
    for (std::size_t i = 0; i < plan.steps.size(); ++i) {
      const SmTarget target = paths.back().attention.functions()[i].record().target;
      CUBINET_TRY_ASSIGN(const std::optional<FoundCubin> found,
                         runtime->cubin(std::get<KernelSpec>(plan.steps[i].kernel), target));
      cubins.push_back(found->cubin);
    }
    CUBINET_TRY(create_bundle(bundle, cubins, {"decode", 1}));
    CUBINET_TRY_ASSIGN(Path found_in_home,
                       walk("warm registry", KernelSource::registry, home, {}, plan, runtime));
    paths.push_back(std::move(found_in_home));
    CUBINET_TRY_ASSIGN(Path found_in_bundle,
                       walk("bundle", KernelSource::bundle, {}, {bundle}, plan, runtime));
    paths.push_back(std::move(found_in_bundle));
    const double start = now_seconds();
    CUBINET_TRY_ASSIGN(BoundAttention again, BoundAttention::bind(*runtime, plan, settings_.device));
    paths.push_back({"process cache", KernelSource::process, now_seconds() - start, std::move(again)});
    return paths;
  }

  // Creates a new Runtime and makes its first request. Stores the Runtime in `runtime`.
  Result<Path> walk(const char* name, KernelSource expected, const std::filesystem::path& home,
                    const std::vector<std::filesystem::path>& bundles, const AttentionPlan& plan,
                    std::shared_ptr<Runtime>& runtime) {
    const double start = now_seconds();
    CUBINET_TRY_ASSIGN(RuntimeOptions options, runtime_options(settings_, home, bundles));
    if (expected != KernelSource::compiled) options.compile = CompilePolicy::never;
    std::optional<KernelSource> source;
    options.observer = [&source](const KernelEvent& event) { source = event.source; };
    CUBINET_TRY_ASSIGN(runtime, Runtime::create(std::move(options)));
    CUBINET_TRY_ASSIGN(BoundAttention attention, BoundAttention::bind(*runtime, plan, settings_.device));
    const double seconds = now_seconds() - start;
    if (source != expected) {
      return Error{ErrorCode::internal, std::string("the path '") + name + "' gave a kernel from elsewhere"};
    }
    return Path{name, expected, seconds, std::move(attention)};
  }

  Result<AttentionDeviation> run_compared(const BoundAttention& attention, const TensorBuffers& buffers,
                                          const AttentionOutputs& reference) const {
    // The scratch buffer stays unwritten for a sanitizer that detects reads of uninitialised
    // memory.
    CUBINET_TRY(buffers.poison(/*scratch=*/options_.time));
    CUBINET_TRY(attention.run(buffers.tensors(), stream_.handle()));
    CUBINET_TRY(stream_.synchronize());
    CUBINET_TRY_ASSIGN(const Bytes output, buffers.output());
    CUBINET_TRY_ASSIGN(const std::vector<float> lse, buffers.lse());
    return compare_attention(attention.plan().request.problem, reference, output, lse);
  }

  // Returns the errors as JSON and records whether they are within tolerance.
  nlohmann::json judge(const AttentionDeviation& error) {
    const bool within = error.worst_row < kTolerance && error.worst_lse < kTolerance;
    all_within_tolerance_ = all_within_tolerance_ && within;
    return {{"worst_row_error", finite_or_text(error.worst_row)},
            {"worst_lse_error", finite_or_text(error.worst_lse)},
            {"within_tolerance", within}};
  }

  Result<void> time(const NamedProblem& named, nlohmann::json& row) {
    CUBINET_TRY_ASSIGN(RuntimeOptions options, runtime_options(settings_, {}));
    CUBINET_TRY_ASSIGN(const std::shared_ptr<Runtime> runtime, Runtime::create(std::move(options)));
    CUBINET_TRY_ASSIGN(const AttentionInputs inputs, full_length_inputs(named.problem));
    CUBINET_TRY_ASSIGN(const AttentionPlan plan, plan_decode_on(*device_, named.problem));
    CUBINET_TRY_ASSIGN(const TimedDecode timed, TimedDecode::create(device_, *runtime, plan, inputs));
    CUBINET_TRY_ASSIGN(const AttentionOutputs reference, attention_reference(named.problem, inputs));
    CUBINET_TRY_ASSIGN(const AttentionDeviation error,
                       run_compared(timed.attention(), timed.buffers(), reference));
    row["full_lengths"] = judge(error);
    std::vector<double> seconds;
    for (int round = 0; round < settings_.rounds + 1; ++round) {
      CUBINET_TRY_ASSIGN(const double measured, timed.seconds_a_call());
      if (round > 0) seconds.push_back(measured);
    }
    const double bytes = attention_work(named.problem, inputs.kv_lengths).kv_bytes;
    row["kernel_us"] = median(seconds) * 1e6;
    row["kv_bytes"] = static_cast<std::uint64_t>(bytes);
    row["kv_terabytes_per_second"] = bytes / median(seconds) / 1e12;
    row["kv_copies"] = timed.buffers().copies();
    return {};
  }

  const Settings& settings_;
  const DecodeOptions& options_;
  std::shared_ptr<const Device> device_;
  Stream stream_;
  bool all_within_tolerance_ = true;
};

}  // namespace

Result<void> bench_decode(const Settings& settings, const DecodeOptions& options, Report& report) {
  CUBINET_TRY_ASSIGN(const std::shared_ptr<const Driver> driver, Driver::open());
  CUBINET_TRY_ASSIGN(const std::shared_ptr<const Device> device, Device::open(driver, settings.device));
  CUBINET_TRY_ASSIGN(Stream stream, Stream::create(device));
  report.set(
      "method",
      "errors: lengths beside page and tile borders, one sequence empty (a batch of one: one such length "
      "after "
      "the other), logits of standard deviation 4, NaN in all that must not be read or has to be written, "
      "every "
      "row against float64; times: full lengths, CUDA graph of 20 calls over KV caches of 256 MB and more in "
      "turn");
  DecodeBench bench(settings, options, device, std::move(stream));
  for (const NamedProblem& problem : options.small ? small_problems() : llama_problems()) {
    const auto begins = [&](const std::string& name) { return problem.name.starts_with(name); };
    if (std::any_of(options.without.begin(), options.without.end(), begins)) continue;
    CUBINET_TRY(bench.run(problem, report));
  }
  if (bench.all_within_tolerance()) return {};
  return Error{ErrorCode::internal, "a row is further from the reference than 1e-2"};
}

}  // namespace cubinet::bench
