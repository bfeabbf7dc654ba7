// SPDX-License-Identifier: Apache-2.0
#include "api/device_fixture.hpp"
#include "support/compiler_search.hpp"
#include "support/ok.hpp"
#include "support/temp_dir.hpp"

#include <cubinet/caller_label.hpp>
#include <cubinet/session/prebuild.hpp>
#include <cubinet/session/prepare.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <set>
#include <thread>

using namespace cubinet;
using test::ok;

namespace {

const AttentionProblem kDecode{.batch = 4, .kv_len = 512, .heads_q = 8, .heads_kv = 2};

// Sessions on the stub device with the template `scale`.
struct PrepareSetting {
  test::Stub stub;
  test::TempDir folder;
  SessionOptions options;

  PrepareSetting() {
    test::write_file(folder / "scale.cu", as_bytes(test::kScaleTemplate));
    options.template_files = {(folder / "scale.cu").string()};
    options.home = (folder / "home").string();
    options.compiler = test::compiler_search();
    options.record = true;
    if (const char* library = std::getenv("CUBINET_TEST_DRIVER")) options.driver_library = library;
  }
  std::shared_ptr<Session> open() const { return ok(Session::open(options)); }
  // A session that may only load what the bundle has.
  SessionOptions served_by(const std::string& bundle) const {
    SessionOptions served = options;
    served.home.clear();
    served.bundles = {{bundle}};
    served.compile = CompilePolicy::never;
    return served;
  }
  static Workload of_factors(std::initializer_list<int> factors, ComputeCapability capability) {
    Workload workload;
    std::uint64_t order = 0;
    for (const int factor : factors)
      workload.add({test::scale_spec(factor).set("unroll", 1), {WorkloadDevice{capability}}, order++});
    return workload;
  }
  // Problems of one shape and several KV lengths.
  Workload of_lengths(std::uint32_t count) const {
    const WorkloadDevice device = WorkloadDevice::of(ok(open()->device(0))->properties());
    Workload workload;
    for (std::uint32_t i = 0; i < count; ++i) {
      AttentionProblem problem = kDecode;
      problem.kv_len += i;
      workload.add({WorkloadAttention{problem}, {device}, i});
    }
    return workload;
  }
  std::string bundle_of(const Workload& workload) const {
    PrebuildOptions prebuild_options;
    prebuild_options.workload = workload;
    prebuild_options.output = (folder / "w.bundle").string();
    return ok(prebuild(options, prebuild_options)).bundle;
  }
  ComputeCapability capability() const { return ok(open()->device(0))->properties().capability; }
};

std::set<std::string> works_of(const Workload& workload) {
  std::set<std::string> works;
  for (const WorkloadEntry& entry : workload.entries())
    works.insert(entry.to_string());
  return works;
}

}  // namespace

TEST_CASE_FIXTURE(
    PrepareSetting,
    "what two ranks recorded is merged, prebuilt without a device and prepared without a compile") {
  if (stub.missing()) return;
  const std::string file = (folder / "merged.workload").string();
  {
    const auto first = open();
    ok(first->runtime().function(test::scale_spec(2), 0));
    ok(first->runtime().function(test::scale_spec(2), 0));
    ok(first->attention(kDecode, ok(first->device(0))));
    const auto second = open();
    ok(second->runtime().function(test::scale_spec(7), 0));
    ok(second->attention(kDecode, ok(second->device(0))));
    Workload merged = first->recorded();
    CHECK(merged.size() == 2);  // not the kernels of the plan
    CHECK(merged.recordings().begin()->second.hits == 1);
    merged.merge(second->recorded());
    ok(merged.write(file));
  }
  const Workload workload = ok(Workload::read(file));
  CHECK(workload.size() == 3);
  SessionOptions elsewhere = options;
  elsewhere.home = (folder / "other home").string();
  elsewhere.driver_library = "/absent/libcuda.so.1";
  PrebuildOptions prebuild_options;
  prebuild_options.workload = workload;
  prebuild_options.output = (folder / "w.bundle").string();
  const PrebuildResult built = ok(prebuild(elsewhere, prebuild_options));
  CHECK_FALSE(built.error);
  CHECK(built.unserved.empty());
  CHECK(built.compiled() >= 3);
  const auto served = ok(Session::open(served_by(built.bundle)));
  std::vector<std::string> entries;
  PrepareOptions prepare_options;
  prepare_options.jobs = 1;
  prepare_options.progress = [&](const PrepareProgress& progress) {
    if (!progress.entry.empty()) entries.push_back(progress.entry);
  };
  const PrepareResult prepared = ok(prepare(*served, workload, prepare_options));
  CHECK_FALSE(prepared.error);
  CHECK(prepared.loaded == 3);
  CHECK(prepared.compiled == 0);
  REQUIRE(entries.size() == 3);
  CHECK(entries[0] == "scale(factor=2, unroll=1)");  // in order of first use
  CHECK(entries[1] == "scale(factor=7, unroll=1)");
  const auto before = served->runtime().counters();
  ok(served->runtime().function(test::scale_spec(7), 0));
  ok(served->attention(kDecode, ok(served->device(0))));
  const auto after = served->runtime().counters();
  CHECK(after.bytes_loaded == before.bytes_loaded);
  CHECK(after.process_hits > before.process_hits);
  CHECK(after.misses == 0);
  // A prepared process records its whole workload, too.
  CHECK(works_of(served->recorded()) == works_of(workload));
}

TEST_CASE_FIXTURE(PrepareSetting, "a preparation records each of its entries, and no other kernel") {
  if (stub.missing()) return;
  options.record = false;
  const auto first = open();
  const auto device = ok(first->device(0));
  const AttentionResolution planned =
      ok(first->plan(kDecode, DeviceFacts::of(device->properties()), {}, device->properties().name));
  REQUIRE(planned.plan);
  Workload workload;
  workload.add({WorkloadAttention{kDecode}, {WorkloadDevice::of(device->properties())}, 0});
  workload.merge(of_factors({2}, capability()));
  options.record = true;
  for (const bool all : {false, true}) {
    // The kernels of the plan are entries of their own, too.
    for (const PlanStep& step : planned.plan->steps) {
      const auto* spec = std::get_if<KernelSpec>(&step.kernel);
      if (all && spec != nullptr) workload.add({*spec, {WorkloadDevice{capability()}}, 5});
    }
    for (const unsigned jobs : {1U, 3U}) {
      const auto session = open();
      PrepareOptions prepare_options;
      prepare_options.jobs = jobs;
      CHECK(ok(prepare(*session, workload, prepare_options)).loaded == workload.size());
      CHECK(works_of(session->recorded()) == works_of(workload));
    }
  }
  CHECK(workload.size() > 2);
}

TEST_CASE_FIXTURE(PrepareSetting,
                  "what cannot be prepared is reported with its reason, and the rest is loaded") {
  if (stub.missing()) return;
  const auto session = open();
  Workload workload = of_factors({3}, capability());
  workload.merge(of_factors({4}, {7, 0}));
  const WorkloadDevice device{capability()};
  workload.add({KernelSpec{"unknown", {}}, {device}, 5});
  KernelSpec source{"axpy", {}, KernelMaker::source};
  source.set("text", std::string(64, 'a'));
  workload.add({source, {device}, 6});
  workload.merge(ok(Workload::parse("{\"cubinet_workload\":1,\"lines\":2}\nnonsense\n")));
  const PrepareResult result = ok(prepare(*session, workload));
  CHECK(result.loaded == 1);
  CHECK(result.compiled == 1);
  REQUIRE(result.failed.size() == 3);
  CHECK(result.failed[0].entry == "scale(factor=4, unroll=1)");
  CHECK(result.failed[0].error.code == ErrorCode::unsupported);
  CHECK(result.failed[1].error.code == ErrorCode::not_found);
  CHECK(result.failed[2].error.message.find(std::string(64, 'a')) != std::string::npos);
  CHECK(result.rejected.size() == 2);
  REQUIRE(result.error);
  const auto document = nlohmann::json::parse(to_json(result));
  CHECK(document["failed"].size() == 3);
  CHECK(document["rejected"].size() == 2);
  CHECK(document["error"]["code"] == "unsupported");
}

TEST_CASE_FIXTURE(PrepareSetting, "a source that the process has resolved before is prepared") {
  if (stub.missing()) return;
  SourceProgram program;
  program.name = "copy";
  program.text = "extern \"C\" __global__ void copy(float* x) { x[0] = x[1]; }";
  program.kernels = {"copy"};
  const auto first = open();
  ok(first->runtime().function(*ok(first->runtime().resolve(program)), 0));
  const Workload workload = first->recorded();
  CHECK(workload.to_text().find("x[1]") == std::string::npos);
  options.home = (folder / "new home").string();
  const auto second = open();
  CHECK(ok(prepare(*second, workload)).failed.size() == 1);
  ok(second->runtime().resolve(program));
  CHECK(ok(prepare(*second, workload)).loaded == 1);
}

TEST_CASE_FIXTURE(PrepareSetting, "the limit of memory bounds the entries that are prepared at once") {
  if (stub.missing()) return;
  // Each thread that prepares compiles at least one of the kernels.
  const auto run = [&](std::uint64_t memory, std::initializer_list<int> factors) {
    std::set<std::thread::id> threads;
    std::mutex mutex;
    options.observer = [&](const KernelEvent&) {
      const std::lock_guard lock(mutex);
      threads.insert(std::this_thread::get_id());
    };
    const auto session = open();
    PrepareOptions prepare_options;
    prepare_options.jobs = 4;
    prepare_options.memory = memory;
    CHECK(ok(prepare(*session, of_factors(factors, capability()), prepare_options)).loaded == factors.size());
    return threads.size();
  };
  CHECK(run(std::uint64_t{1} << 20, {21, 22, 23, 24, 25, 26, 27, 28}) == 1);
  CHECK(run(UINT64_MAX, {31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42}) > 1);
}

TEST_CASE_FIXTURE(PrepareSetting, "a cancelled prepare keeps what is loaded and continues the next time") {
  if (stub.missing()) return;
  const auto session = open();
  const Workload workload = of_factors({51, 52, 53}, capability());
  std::size_t done = 0;
  PrepareOptions stopping;
  stopping.jobs = 1;
  stopping.progress = [&](const PrepareProgress& progress) { done = progress.done; };
  stopping.cancelled = [&] { return done > 0; };
  const PrepareResult stopped = ok(prepare(*session, workload, stopping));
  CHECK(stopped.interrupted);
  CHECK(stopped.loaded == 1);
  CHECK(stopped.error->code == ErrorCode::unavailable);
  const PrepareResult rest = ok(prepare(*session, workload));
  CHECK(rest.loaded == 3);
  CHECK(rest.compiled == 2);
  CHECK_FALSE(rest.error);
}

TEST_CASE_FIXTURE(PrepareSetting, "a cancellation that is reported once ends the whole preparation") {
  if (stub.missing()) return;
  const auto session = open();
  const WorkloadDevice device = WorkloadDevice::of(ok(session->device(0))->properties());
  Workload workload = of_factors({51, 52}, capability());
  workload.add({WorkloadAttention{kDecode}, {device}, 2});
  workload.merge(of_factors({51, 52, 53, 54}, capability()));
  for (const unsigned jobs : {1U, 3U}) {
    // Each call before an entry, a load or a binding may be the one that cancels.
    for (std::size_t at = 1;; ++at) {
      std::size_t calls = 0;
      PrepareOptions stopping;
      stopping.jobs = jobs;
      stopping.cancelled = [&] { return ++calls == at; };
      const PrepareResult stopped = ok(prepare(*session, workload, stopping));
      if (calls < at) {
        CHECK_FALSE(stopped.interrupted);
        CHECK(at > 2 * workload.size());
        break;
      }
      CHECK(stopped.interrupted);
      CHECK(stopped.loaded < workload.size());
      CHECK(calls == at);
    }
  }
}

TEST_CASE_FIXTURE(PrepareSetting,
                  "where nothing is compiled an entry is loaded before the next ones are planned") {
  if (stub.missing()) return;
  const Workload workload = of_lengths(8);
  const std::string bundle = bundle_of(workload);
  // The number of questions whether to stop until the first entry has ended.
  const auto calls_to_first_end = [&](const SessionOptions& session_options) {
    std::size_t calls = 0;
    std::size_t calls_at_first_end = 0;
    PrepareOptions counting;
    counting.jobs = 1;
    counting.cancelled = [&] { return ++calls == 0; };
    counting.progress = [&](const PrepareProgress& progress) {
      if (progress.done == 1 && calls_at_first_end == 0) calls_at_first_end = calls;
    };
    CHECK(ok(prepare(*ok(Session::open(session_options)), workload, counting)).loaded == 8);
    return calls_at_first_end;
  };
  CHECK(calls_to_first_end(served_by(bundle)) < workload.size());
  CHECK(calls_to_first_end(options) > workload.size());  // a plan depends on the builds before it
}

TEST_CASE_FIXTURE(PrepareSetting, "a kernel that does not load fails all entries of it, early and late") {
  if (stub.missing()) return;
  const Workload workload = of_lengths(12);
  const SessionOptions served = served_by(bundle_of(workload));
  for (const unsigned jobs : {1U, 4U}) {
    const auto session = ok(Session::open(served));
    stub.fail("cuLibraryLoadData", 1, 2);  // out of memory
    PrepareOptions prepare_options;
    prepare_options.jobs = jobs;
    const PrepareResult result = ok(prepare(*session, workload, prepare_options));
    REQUIRE(result.failed.size() == 12);
    CHECK(result.failed[0].error.code == ErrorCode::driver);
    CHECK_FALSE(result.interrupted);
    CHECK(ok(prepare(*session, workload, prepare_options)).loaded == 12);
  }
}

TEST_CASE_FIXTURE(PrepareSetting, "a cancellation ends the binding of problems that share a kernel") {
  if (stub.missing()) return;
  const auto session = open();
  const WorkloadDevice device = WorkloadDevice::of(ok(session->device(0))->properties());
  Workload workload;
  for (std::uint32_t i = 0; i < 16; ++i) {
    AttentionProblem problem = kDecode;
    problem.kv_len += i;
    workload.add({WorkloadAttention{problem}, {device}, i});
  }
  std::size_t done = 0;
  PrepareOptions stopping;
  stopping.jobs = 1;
  stopping.progress = [&](const PrepareProgress& progress) { done = progress.done; };
  stopping.cancelled = [&] { return done > 0; };
  const PrepareResult stopped = ok(prepare(*session, workload, stopping));
  CHECK(stopped.interrupted);
  CHECK(stopped.loaded == 1);
  CHECK(stopped.failed.empty());
  CHECK(ok(prepare(*session, workload)).loaded == 16);
}

TEST_CASE_FIXTURE(PrepareSetting,
                  "the requests of a preparation have the label of the thread that called it") {
  if (stub.missing()) return;
  std::mutex mutex;
  std::multiset<std::string> callers;
  options.observer = [&](const KernelEvent& event) {
    const std::lock_guard lock(mutex);
    callers.insert(event.caller);
  };
  const auto session = open();
  const Workload workload = of_factors({71, 72, 73, 74, 75, 76}, capability());
  callers.clear();
  PrepareOptions several;
  several.jobs = 3;
  const CallerLabel label("warmup");
  CHECK(ok(prepare(*session, workload, several)).loaded == 6);
  CHECK(callers.size() >= 6);
  CHECK(callers.count("warmup") == callers.size());
}

TEST_CASE_FIXTURE(PrepareSetting, "a nested prepare is busy, and two threads may prepare at once") {
  if (stub.missing()) return;
  std::shared_ptr<Session> session;
  std::atomic<int> busy{0};
  const auto nest = [&] {
    const auto nested = prepare(*session, {});
    if (!nested && nested.error().code == ErrorCode::busy) ++busy;
    return false;
  };
  options.observer = [&](const KernelEvent&) { nest(); };
  session = open();
  const Workload workload = of_factors({61, 62}, capability());
  PrepareOptions calling;
  calling.progress = [&](const PrepareProgress&) { nest(); };
  calling.cancelled = nest;
  CHECK(ok(prepare(*session, workload, calling)).loaded == 2);
  CHECK(busy >= 7);
  CHECK(ok(prepare(*session, workload)).loaded == 2);  // the thread is free again
  std::size_t loaded = 0;
  std::thread other([&] { loaded = ok(prepare(*session, of_factors({62, 63}, capability()))).loaded; });
  CHECK(ok(prepare(*session, of_factors({63, 64}, capability()))).loaded == 2);
  other.join();
  CHECK(loaded == 2);
  PrepareOptions absent;
  absent.device = 99;
  CHECK_FALSE(prepare(*session, workload, absent));
}

TEST_CASE_FIXTURE(PrepareSetting,
                  "a freeze from a callback of a preparation ends its loads, and the rest is reported") {
  const auto session = open();
  PrepareOptions callbacks;
  callbacks.jobs = 1;
  callbacks.progress = [&](const PrepareProgress& progress) {
    if (progress.done == 2) CHECK(session->runtime().freeze());
  };
  const PrepareResult result = ok(prepare(*session, of_factors({1, 2, 3, 4}, capability()), callbacks));
  CHECK(result.loaded == 2);
  REQUIRE(result.failed.size() == 2);
  CHECK(result.failed[0].error.code == ErrorCode::not_found);
  CHECK(result.failed[0].error.message.find("the Runtime is frozen") != std::string::npos);
  CHECK(session->runtime().refusals()->entries.size() == 2);
}
