// SPDX-License-Identifier: Apache-2.0
#include <cubinet/session.hpp>
#include <cubinet/session/journal_writer.hpp>
#include <cubinet/session/open_stores.hpp>
#include <cubinet/session/planner_cache.hpp>
#include <cubinet/session/template_files.hpp>
#include <cubinet/session/workload_recorder.hpp>

namespace cubinet {

Session::Session(SessionOptions options, std::shared_ptr<Home> home, std::shared_ptr<Runtime> runtime,
                 std::shared_ptr<WorkloadRecorder> recorder)
    : options_(std::move(options)),
      home_(std::move(home)),
      runtime_(std::move(runtime)),
      planners_(std::make_shared<PlannerCache>(*runtime_)),
      recorder_(std::move(recorder)) {}

Result<std::shared_ptr<Session>> Session::open(SessionOptions options) {
  CUBINET_TRY_ASSIGN(OpenedStores opened, open_stores(options));
  // The catalogs of a home that cannot be used are not read either.
  CUBINET_TRY_ASSIGN(TemplateCatalog catalog,
                     load_catalog(*posix_file_system(), options.template_files,
                                  opened.home == nullptr ? std::string() : options.home, options.log));
  auto home = opened.home;
  auto recorder = std::make_shared<WorkloadRecorder>(options.log, options.record_folder);
  auto journal = std::make_shared<JournalWriter>(
      home, opened.stores, opened.caches, options.log,
      JournalSources{options.template_files, options.compile_options.include_directories,
                     options.compile_options.library_directories});
  SessionOptions observed = options;
  observed.observer = [recorder, journal, observer = options.observer](const KernelEvent& event) {
    recorder->note(event);
    journal->note(event);
    if (observer) observer(event);
  };
  CUBINET_TRY_ASSIGN(auto runtime, make_runtime(observed, std::move(opened), std::move(catalog)));
  std::shared_ptr<Session> session(
      new Session(std::move(options), std::move(home), std::move(runtime), std::move(recorder)));
  if (session->options_.record || !session->options_.record_folder.empty())
    CUBINET_TRY(session->start_recording());
  return session;
}

Session::~Session() {
  recorder_->append_counters([this] { return runtime_->counters(); });
}

Result<std::shared_ptr<const Device>> Session::device(int ordinal) const {
  return runtime_->device(ordinal);
}

Result<BoundAttention> Session::attention(const AttentionProblem& problem,
                                          const std::shared_ptr<const Device>& device,
                                          PlanOptions options) const {
  const WorkloadRecorder::Binding binding;
  const WorkloadAttention asked{problem, options};
  auto bound = bind_attention(problem, device, std::move(options));
  if (bound) recorder_->note(asked, device->properties());
  return bound;
}

Result<BoundAttention> Session::bind_attention(const AttentionProblem& problem,
                                               const std::shared_ptr<const Device>& device,
                                               PlanOptions options) const {
  const DeviceProperties& properties = device->properties();
  const DeviceFacts facts = DeviceFacts::of(properties);
  if (options.targets == TargetPolicy{}) options.targets = options_.targets;
  const auto bind = [&](const AttentionPlanner& planner,
                        const PlanOptions& chosen) -> Result<BoundAttention> {
    CUBINET_TRY_ASSIGN(const AttentionPlan plan, planner.plan(problem, chosen));
    return BoundAttention::bind(*runtime_, plan, properties.ordinal);
  };
  const auto bind_loaded = [&](const AttentionPlanner& planner,
                               PlanOptions chosen) -> Result<BoundAttention> {
    chosen.may_load = false;
    auto bound = bind(planner, chosen);
    if (bound) return bound;
    // The best kernel is not loaded. Another one may be.
    CUBINET_TRY_ASSIGN(const DeviceRows loaded, runtime_->loaded_rows(properties.ordinal));
    CUBINET_TRY_ASSIGN(const AttentionPlanner other,
                       AttentionPlanner::over(loaded, facts, properties.name, /*may_compile=*/false));
    chosen.may_compile = false;
    auto next = bind(other, chosen);
    return next ? std::move(next) : std::move(bound);
  };
  // Wrong problems are no refusals.
  const auto refuse = [&](const Error& error) {
    if (options.may_load && error.code != ErrorCode::invalid_argument)
      runtime_->count_refusal(WorkloadEntry{WorkloadAttention{problem}}.to_string(), properties.ordinal,
                              error);
    return error;
  };
  const auto known = planners_->find(facts, properties.name);
  if (!known) return refuse(known.error());
  if (!options.may_load) return bind_loaded(*known->planner, options);
  if (runtime_->frozen()) {
    auto bound = bind_loaded(*known->planner, options);
    if (bound) return bound;
    const auto best = known->planner->plan(problem, options);
    if (!best) return refuse(best.error());
    // The Runtime refuses the best kernel, and counts it.
    return BoundAttention::bind(*runtime_, *best, properties.ordinal);
  }
  auto bound = bind(*known->planner, options);
  if (bound || known->fresh) return bound;
  // The plan may name a build that another process has removed.
  planners_->forget();
  CUBINET_TRY_ASSIGN(const PlannerCache::Found fresh, planners_->find(facts, properties.name));
  return bind(*fresh.planner, options);
}

Result<AttentionResolution> Session::plan(const AttentionProblem& problem, const DeviceFacts& device,
                                          PlanOptions options, std::string_view device_name) const {
  CUBINET_TRY_ASSIGN(const PlannerCache::Found known, planners_->find(device, device_name));
  if (options.targets == TargetPolicy{}) options.targets = options_.targets;
  return known.planner->resolve(problem, std::move(options));
}

Result<void> Session::start_recording() const {
  return recorder_->start([this] { return runtime_->counters(); });
}

void Session::stop_recording() const {
  recorder_->stop([this] { return runtime_->counters(); });
}

bool Session::recording() const {
  return recorder_->active();
}

Workload Session::recorded() const {
  return recorder_->recorded([this] { return runtime_->counters(); });
}

}  // namespace cubinet
