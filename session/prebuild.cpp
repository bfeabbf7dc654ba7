// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/file_system.hpp>
#include <cubinet/base/parallel.hpp>
#include <cubinet/base/stopwatch.hpp>
#include <cubinet/base/text.hpp>
#include <cubinet/jit/compiler.hpp>
#include <cubinet/session/bundle_options.hpp>
#include <cubinet/session/compilation.hpp>
#include <cubinet/session/matrix.hpp>
#include <cubinet/session/needed_builds.hpp>
#include <cubinet/session/open_stores.hpp>
#include <cubinet/session/prebuild.hpp>
#include <cubinet/session/template_files.hpp>
#include <cubinet/sources/source_catalogs.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <set>

namespace cubinet {
namespace {

PrebuildResult::Kernel kernel_of(const MatrixKernel& kernel) {
  return {kernel.given, kernel.target};
}

// Refuses the targets that the compiler does not build for. Without a compiler no target is
// refused, because a store may have the builds.
void refuse_unknown_targets(Runtime& runtime, MatrixExpansion& expansion) {
  const auto compiler = runtime.compiler();
  if (!compiler) return;
  const auto supported = (*compiler)->supported_targets();
  if (!supported) return;
  std::vector<MatrixKernel> rest;
  for (MatrixKernel& kernel : expansion.kernels) {
    if (std::find(supported->begin(), supported->end(), kernel.target.target) != supported->end()) {
      rest.push_back(std::move(kernel));
      continue;
    }
    Error error{ErrorCode::unsupported,
                fmt::format("{} does not build for {}", (*compiler)->identity(), kernel.target.to_string()),
                "see the targets that it builds for in `report_compilers()`"};
    expansion.refused.push_back({{std::move(kernel.given), kernel.target}, std::move(error)});
  }
  expansion.kernels = std::move(rest);
}

// Adds the builds that the problems need to those of the matrix, each once.
void add_builds(std::vector<MatrixKernel>& kernels, std::vector<NeededBuild> builds) {
  std::set<std::pair<Bytes, ImageKind>> known;
  for (const MatrixKernel& kernel : kernels)
    known.emplace(kernel.identity.encoding(), kernel.target.kind);
  for (NeededBuild& build : builds) {
    KernelIdentity identity = identify(build.spec, build.target.target);
    if (!known.emplace(identity.encoding(), build.target.kind).second) continue;
    kernels.push_back({build.spec, build.spec, build.target, std::move(identity)});
  }
}

// Builds kernels on several threads and collects the outcomes.
class BuildRun {
 public:
  BuildRun(Runtime& runtime, const std::vector<MatrixKernel>& kernels, const PrebuildOptions& options)
      : runtime_(runtime), kernels_(kernels), options_(options) {}

  void run(unsigned jobs);
  // Moves the outcomes into the result, in the order of the kernels, and returns the cubins that
  // were built.
  std::vector<Cubin> collect(PrebuildResult& result);

 private:
  struct Outcome {
    std::optional<FoundCubin> found;
    std::optional<Error> error;  // why there is no build
    std::optional<Error> not_kept;
    bool kept = false;  // in the home
  };

  void build(std::size_t index);
  void report(const PrebuildProgress& progress) const {
    if (options_.progress) options_.progress(progress);
  }
  PrebuildProgress progress_of(std::size_t index) const;
  bool cancelled() const { return options_.cancelled && options_.cancelled(); }

  Runtime& runtime_;
  const std::vector<MatrixKernel>& kernels_;
  const PrebuildOptions& options_;
  std::vector<Outcome> outcomes_ = std::vector<Outcome>(kernels_.size());
  std::mutex mutex_;  // guards done_ and the callbacks
  std::size_t done_ = 0;
};

void BuildRun::run(unsigned jobs) {
  const auto locked = [this](const auto& call) {
    const std::lock_guard lock(mutex_);
    return call();
  };
  const auto tick = [&] { locked([&] { report({done_, kernels_.size()}); }); };
  tick();
  parallel_for(kernels_.size(), jobs, [this](std::size_t index) { build(index); },
               {[&] { return locked([&] { return cancelled(); }); }, tick});
}

void BuildRun::build(std::size_t index) {
  const MatrixKernel& kernel = kernels_[index];
  Outcome& outcome = outcomes_[index];
  auto found = runtime_.cubin(kernel.spec, kernel.target.target, kernel.target.kind);
  if (!found) {
    outcome.error = found.error();
  } else if (!found->has_value()) {
    outcome.error =
        Error{ErrorCode::not_found, "it is in no store, and `SessionOptions::compile` forbids compiling"};
  } else {
    const auto kept = is_kept(runtime_, **found);
    if (!kept) outcome.not_kept = kept.error();
    outcome.kept = kept && *kept;
    outcome.found = **std::move(found);
  }
  const std::lock_guard lock(mutex_);
  ++done_;
  report(progress_of(index));
}

PrebuildProgress BuildRun::progress_of(std::size_t index) const {
  const Outcome& outcome = outcomes_[index];
  PrebuildProgress progress{done_, kernels_.size(), kernel_of(kernels_[index]).to_string()};
  progress.kept = !outcome.not_kept;
  if (outcome.found) {
    progress.outcome = to_string(outcome.found->source);
    progress.seconds = outcome.found->source == KernelSource::compiled ? outcome.found->compile_seconds
                                                                       : outcome.found->find_seconds;
    progress.bytes = outcome.found->cubin.image->size();
  } else {
    progress.outcome =
        outcome.error->code == ErrorCode::not_found ? "not found" : "failed: " + outcome.error->message;
  }
  return progress;
}

std::vector<Cubin> BuildRun::collect(PrebuildResult& result) {
  std::vector<Cubin> cubins;
  for (std::size_t i = 0; i < kernels_.size(); ++i) {
    Outcome& outcome = outcomes_[i];
    const PrebuildResult::Kernel kernel = kernel_of(kernels_[i]);
    if (outcome.error) result.failed.push_back({kernel, *outcome.error});
    if (outcome.not_kept) result.not_kept.push_back({kernel, *outcome.not_kept});
    if (!outcome.found) continue;
    result.built.push_back(
        {kernel, outcome.found->source, progress_of(i).seconds, outcome.found->cubin.record, outcome.kept});
    cubins.push_back(std::move(outcome.found->cubin));
  }
  result.interrupted = result.built.size() + result.failed.size() < kernels_.size();
  return cubins;
}

constexpr const char* kAllCatalogs = "all";

std::string licences_path(const std::string& bundle) {
  return bundle + ".licenses.txt";
}

std::filesystem::path partial_path(const std::string& bundle) {
  return bundle + ".partial";
}

// Writes the licences, then the bundle; those of an incomplete one get other names. Nothing is
// written if nothing was built.
Result<void> write_bundle(const PrebuildOptions& options, const std::string& licences,
                          std::vector<Cubin> cubins, PrebuildResult& result) {
  const std::string partial = partial_path(options.output).string();
  const bool complete = !result.interrupted && result.failed.empty();
  if (complete) {
    result.bundle = options.output;
  } else if (!cubins.empty()) {
    result.bundle = partial;
  }
  const auto files = posix_file_system();
  if (!result.bundle.empty() && !licences.empty()) {
    CUBINET_TRY(write_file_atomically(*files, licences_path(result.bundle), as_bytes(licences)));
    result.licences = licences_path(result.bundle);
  }
  if (!result.bundle.empty()) CUBINET_TRY(create_bundle(result.bundle, std::move(cubins), options.bundle));
  if (!complete) return {};
  CUBINET_TRY(files->remove(partial));
  CUBINET_TRY(files->remove(licences_path(partial)));
  return {};
}

std::optional<Error> error_of(const PrebuildOptions& options, const PrebuildResult& result) {
  if (result.interrupted)
    return Error{ErrorCode::unavailable, fmt::format("interrupted; '{}' is not written", options.output),
                 "the same command continues where this one ended"};
  if (!result.failed.empty()) return result.failed.front().error;
  if (result.not_kept.empty()) return std::nullopt;
  Error error = result.not_kept.front().error;
  error.message =
      fmt::format("the home could not keep {}: {}", plural(result.not_kept.size(), "kernel"), error.message);
  return error;
}

// Fails if combinations are refused, unless the options ask to build the rest.
bool stops_at_refusals(const PrebuildOptions& options, const MatrixExpansion& expansion,
                       PrebuildResult& result) {
  if (expansion.refused.empty() || options.skip_refused) return false;
  result.refused = expansion.refused;
  result.error = Error{ErrorCode::invalid_argument,
                       fmt::format("{} of the matrix refused; nothing was built",
                                   plural(result.refused.size(), "combination")),
                       "change the matrix, or build the others with `PrebuildOptions::skip_refused`"};
  return true;
}

bool is_empty(const Workload& workload) {
  return workload.empty() && workload.rejected().empty();
}

// Returns the kernels of the catalogs as elements of a matrix. Returns not_found for an unknown
// catalog.
Result<std::vector<MatrixElement>> catalog_elements(const SessionOptions& session,
                                                    const std::vector<std::string>& wanted) {
  std::vector<MatrixElement> elements;
  if (wanted.empty()) return elements;
  CUBINET_TRY_ASSIGN(const auto catalogs, SourceCatalogs(session.home).list(session.log));
  std::set<std::string> missing(wanted.begin(), wanted.end());
  const bool all = missing.erase(kAllCatalogs) > 0;
  std::vector<std::string> names;
  for (const SourceManifest& catalog : catalogs) {
    names.push_back(catalog.name);
    if (missing.erase(catalog.name) == 0 && !all) continue;
    for (const SourceKernel& kernel : catalog.kernels)
      elements.push_back({kernel.name, {}, {ImageTarget{kernel.target}}});
  }
  if (missing.empty() && !elements.empty()) return elements;
  const std::string first = missing.empty() ? kAllCatalogs : *missing.begin();
  return Error{ErrorCode::not_found, fmt::format("the home has no catalog of sources '{}'", printable(first)),
               names.empty() ? "import one with `import_sources()`" : "it has " + join(names)};
}

// Returns the licences of the catalogs' kernels that were built; empty: there are no such kernels.
// `manifests` are from before the kernels were built: a catalog may have been removed meanwhile.
Result<std::string> licences_of(const SessionOptions& session, const std::vector<SourceManifest>& manifests,
                                const PrebuildResult& result) {
  std::vector<std::string> kernels;
  for (const PrebuildResult::Build& build : result.built) {
    if (build.kernel.spec.parameters.empty()) kernels.push_back(build.kernel.spec.name);
  }
  if (kernels.empty()) return std::string();
  return licences_of(manifests, kernels, SourceCatalogs(session.home));
}

Result<MatrixExpansion> read_matrix(const SessionOptions& session, const PrebuildOptions& options,
                                    const TemplateCatalog& catalog) {
  CUBINET_TRY_ASSIGN(std::vector<MatrixElement> elements, catalog_elements(session, options.catalogs));
  if (!options.matrix && elements.empty() && options.request.problems.empty() && is_empty(options.workload))
    return Error{ErrorCode::invalid_argument, "neither a matrix nor problems nor a workload with entries are given",
                 "give `PrebuildOptions::matrix`, problems with `PrebuildOptions::request`, or "
                 "`PrebuildOptions::workload`"};
  if (options.matrix) {
    CUBINET_TRY_ASSIGN(auto more, parse_matrix(*options.matrix, options.matrix_name));
    elements.insert(elements.end(), std::make_move_iterator(more.begin()),
                    std::make_move_iterator(more.end()));
  }
  return expand_matrix(elements, catalog, session.compile_options.flags);
}

Error nothing_to_build(const PrebuildResult& result) {
  if (result.unserved.empty())
    return Error{ErrorCode::invalid_argument,
                 "every combination of the matrix is refused: there is nothing to build"};
  const UnservedProblem& first = result.unserved.front();
  return Error{
      ErrorCode::invalid_argument,
      fmt::format("no problem is served, there is nothing to build: {}: {}", first.text, first.reason)};
}

}  // namespace

std::string PrebuildResult::Kernel::to_string() const {
  return spec.to_string() + " for " + target.to_string();
}

std::size_t PrebuildResult::compiled() const {
  return static_cast<std::size_t>(std::count_if(
      built.begin(), built.end(), [](const Build& build) { return build.source == KernelSource::compiled; }));
}

Result<PrebuildResult> prebuild(const SessionOptions& session, const PrebuildOptions& options) {
  PrebuildResult result;
  result.shard = options.shard;
  CUBINET_TRY_ASSIGN(TemplateCatalog catalog,
                     load_catalog(*posix_file_system(), session.template_files, session.home, session.log));
  CUBINET_TRY_ASSIGN(const auto manifests, SourceCatalogs(session.home).list());
  CUBINET_TRY_ASSIGN(MatrixExpansion expansion, read_matrix(session, options, catalog));
  CUBINET_TRY(check_bundle_options(options.bundle));
  // Templates refuse combinations without a compiler.
  if (stops_at_refusals(options, expansion, result)) return result;
  const bool nothing =
      expansion.kernels.empty() && options.request.problems.empty() && is_empty(options.workload);
  // The shard is taken before the compiler refuses targets, so that the shards are the same for
  // every compiler.
  expansion.kernels = take_shard(std::move(expansion.kernels), options.shard);
  CUBINET_TRY_ASSIGN(OpenedStores opened, open_stores(session));
  CUBINET_TRY_ASSIGN(const auto runtime, make_runtime(session, std::move(opened), std::move(catalog)));
  refuse_unknown_targets(*runtime, expansion);
  if (stops_at_refusals(options, expansion, result)) return result;
  CUBINET_TRY_ASSIGN(NeededBuilds needed, builds_needed(*runtime, options.request));
  add_builds(expansion.kernels, std::move(needed.builds));
  CUBINET_TRY_ASSIGN(NeededBuilds recorded, builds_needed(session, *runtime, options.workload));
  add_builds(expansion.kernels, std::move(recorded.builds));
  result.refused = std::move(expansion.refused);
  result.unserved = std::move(needed.unserved);
  for (UnservedProblem& unserved : recorded.unserved)
    result.unserved.push_back(std::move(unserved));
  // A shard of a small matrix may be empty.
  if (nothing || (expansion.kernels.empty() && options.shard.count == 1)) return nothing_to_build(result);
  const unsigned jobs = jobs_within(options.jobs == 0 ? default_jobs() : options.jobs, options.memory);
  log(session.log, LogLevel::info,
      fmt::format("{}, {} at a time", plural(expansion.kernels.size(), "kernel"), jobs));
  const Stopwatch watch;
  BuildRun run(*runtime, expansion.kernels, options);
  run.run(jobs);
  std::vector<Cubin> cubins = run.collect(result);
  result.seconds = watch.seconds();
  CUBINET_TRY_ASSIGN(const std::string licences, licences_of(session, manifests, result));
  CUBINET_TRY(write_bundle(options, licences, std::move(cubins), result));
  result.error = error_of(options, result);
  return result;
}

}  // namespace cubinet
