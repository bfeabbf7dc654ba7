// SPDX-License-Identifier: Apache-2.0
#include "device_fixture.hpp"

#include <cubinet/caller_label.hpp>
#include <cubinet/loader/stream.hpp>

#include <algorithm>
#include <atomic>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace cubinet {
namespace {

using namespace test;

// A Runtime whose home has builds of scale_spec(1) to scale_spec(3). scale_spec(1) is loaded.
struct FreezeService {
  TempDir folder;
  Stub stub;
  Journal journal;
  std::shared_ptr<Runtime> runtime = make_runtime(device_options(folder / "h", &journal));
  std::vector<std::shared_ptr<const Kernel>> kernels;

  FreezeService() {
    const auto builder = make_runtime(device_options(folder / "h"));
    for (int factor = 1; factor <= 3; ++factor) {
      REQUIRE(builder->function(scale_spec(factor), 0));
      kernels.push_back(*runtime->resolve(scale_spec(factor)));
    }
    REQUIRE(runtime->function(*kernels[0], 0));
  }
  Result<void> freeze(FreezeOptions options = {}) const { return runtime->freeze(options); }
  ErrorCode code_of(const Result<Function>& function) const {
    REQUIRE_FALSE(function);
    return function.error().code;
  }
};

TEST_CASE("a frozen Runtime serves what is loaded and refuses anything else until it is thawed") {
  FreezeService service;
  Runtime& runtime = *service.runtime;
  REQUIRE(service.freeze());
  CHECK(runtime.frozen());
  CHECK(runtime.function(*service.kernels[0], 0));
  CHECK(runtime.function(scale_spec(1), 0, "scale_twice"));
  const auto refused = runtime.function(*service.kernels[1], 0);
  CHECK(service.code_of(refused) == ErrorCode::not_found);
  CHECK(refused.error().message.find("scale(factor=2") != std::string::npos);
  CHECK(refused.error().message.find("is not loaded on device 0, and the Runtime is frozen") !=
        std::string::npos);
  CHECK(refused.error().remedy.find("Runtime::thaw()") != std::string::npos);
  CHECK(service.code_of(runtime.function(scale_spec(900), 0)) == ErrorCode::not_found);
  CHECK(service.code_of(runtime.function({"stored", {}}, 0)) == ErrorCode::not_found);
  CHECK(service.code_of(runtime.function(*service.kernels[0], 7)) == ErrorCode::not_found);
  CHECK(runtime.counters().compiled == 0);
  REQUIRE(runtime.thaw());
  CHECK_FALSE(runtime.frozen());
  CHECK(runtime.function(*service.kernels[1], 0));
}

TEST_CASE("calls that read the stores are refused while frozen, and the pure ones work") {
  FreezeService service;
  Runtime& runtime = *service.runtime;
  const auto record = (*runtime.cubin(scale_spec(1), {9, 0, TargetKind::specific}))->cubin.record;
  const auto rows = runtime.rows({9, 0});
  REQUIRE(rows);
  REQUIRE(service.freeze());
  CHECK(runtime.resolve(scale_spec(5)));
  SourceProgram program;
  program.text = "__global__ void k() {}";
  program.kernels = {"k"};
  CHECK(runtime.resolve(program));
  CHECK(runtime.resolve(KernelSpec{"stored", {}}).error().code == ErrorCode::unavailable);
  CHECK(runtime.resolve("scale").error().code == ErrorCode::unavailable);
  const auto explained = runtime.explain(*service.kernels[1], {9, 0});
  REQUIRE_FALSE(explained);
  CHECK(explained.error().code == ErrorCode::unavailable);
  CHECK(explained.error().message.find("the stores are not read, because the Runtime is frozen") !=
        std::string::npos);
  CHECK(runtime.build_status(record).error().code == ErrorCode::unavailable);
  CHECK(runtime.cubin(scale_spec(1), {9, 0, TargetKind::specific}).error().code == ErrorCode::unavailable);
  CHECK(runtime.rows({9, 0})->rows.size() == rows->rows.size());
  CHECK(runtime.rows({8, 0}).error().code == ErrorCode::unavailable);
  CHECK(runtime.loaded_rows(0));
  CHECK_FALSE(runtime.can_compile());
  const std::uint64_t changes = runtime.store_changes();
  REQUIRE(make_runtime(device_options(service.folder / "h"))->function(scale_spec(9), 0));
  CHECK(runtime.store_changes() == changes);
  REQUIRE(runtime.thaw());
  CHECK(runtime.store_changes() > changes);
  CHECK(runtime.explain(*service.kernels[1], {9, 0}));
}

TEST_CASE("a user image that was resolved before is resolved while frozen, another one is refused") {
  FreezeService service;
  Runtime& runtime = *service.runtime;
  const auto found = *runtime.cubin(scale_spec(1), {9, 0, TargetKind::specific});
  const auto other = *runtime.cubin(scale_spec(2), {9, 0, TargetKind::specific});
  const auto resolved = runtime.resolve("mine", *found->cubin.image);
  REQUIRE(resolved);
  REQUIRE(service.freeze());
  CHECK(*runtime.resolve("mine", *found->cubin.image) == *resolved);
  CHECK(runtime.resolve("mine", *other->cubin.image).error().code == ErrorCode::unavailable);
}

TEST_CASE("a loaded fallback is served for a kernel that is not loaded, and counted") {
  FreezeService service;
  Runtime& runtime = *service.runtime;
  const auto& kernels = service.kernels;
  const auto refused = service.freeze({.fallbacks = {{kernels[2], kernels[1]}}});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::not_found);
  CHECK_FALSE(runtime.frozen());
  CHECK(service.freeze({.fallbacks = {{kernels[2], nullptr}}}).error().code == ErrorCode::invalid_argument);
  const auto foreign = *make_runtime(device_options(service.folder / "h"))->resolve(scale_spec(1));
  CHECK(service.freeze({.fallbacks = {{kernels[2], foreign}}}).error().code == ErrorCode::invalid_argument);
  REQUIRE(service.freeze({.fallbacks = {{kernels[2], kernels[0]}}}));
  const auto served = runtime.function(*kernels[2], 0, "scale_twice");
  REQUIRE(served);
  CHECK(served->record().digest == runtime.function(*kernels[0], 0)->record().digest);
  CHECK(served->entry_point().name == "scale_twice");
  CHECK(runtime.function(*kernels[2], 0, {}, LoadPolicy::loaded_only));
  CHECK(service.code_of(runtime.function(*kernels[2], 0, "absent")) == ErrorCode::not_found);
  CHECK(service.code_of(runtime.function(*kernels[1], 0)) == ErrorCode::not_found);
  CHECK(runtime.refusals()->fallbacks == 2);
  CHECK(runtime.refusals()->entries.size() == 1);
  REQUIRE(service.freeze());  // replaces the fallbacks, and counts on
  CHECK(service.code_of(runtime.function(*kernels[2], 0)) == ErrorCode::not_found);
  CHECK(runtime.refusals()->fallbacks == 2);
}

TEST_CASE("refusals name kernel, device and caller, and each kind is logged once") {
  FreezeService service;
  Runtime& runtime = *service.runtime;
  REQUIRE(service.freeze());
  {
    const CallerLabel label("decode");
    for (int i = 0; i < 3; ++i)
      CHECK_FALSE(runtime.function(*service.kernels[1], 0));
  }
  CHECK_FALSE(runtime.function(*service.kernels[1], 0));
  CHECK_FALSE(runtime.function(*service.kernels[2], 0, {}, LoadPolicy::loaded_only));
  const auto refusals = runtime.refusals();
  REQUIRE(refusals);
  CHECK(refusals->frozen);
  REQUIRE(refusals->entries.size() == 2);
  CHECK(refusals->entries[0].count == 1);
  CHECK(refusals->entries[1].caller == "decode");
  CHECK(refusals->entries[1].count == 3);
  CHECK(refusals->entries[1].kernel.starts_with("scale(factor=2"));
  CHECK(service.journal.said("requested by decode"));
  CHECK(std::count_if(service.journal.lines.begin(), service.journal.lines.end(), [](const auto& line) {
          return line.find("the Runtime is frozen") != std::string::npos;
        }) == 2);
  CHECK(service.journal.events.back().error.has_value());
  REQUIRE(runtime.thaw());
  CHECK(runtime.refusals()->entries.size() == 2);  // readable until the next freeze
  REQUIRE(service.freeze());
  CHECK(runtime.refusals()->entries.empty());
}

TEST_CASE("a release does nothing while frozen, a trim leaves idle modules and a reset device is forgotten") {
  FreezeService service;
  Runtime& runtime = *service.runtime;
  REQUIRE(runtime.function(*service.kernels[1], 0));
  REQUIRE(runtime.release(*service.kernels[1], 0));
  REQUIRE(service.freeze());
  CHECK_FALSE(runtime.release(*service.kernels[0], 0));
  CHECK(runtime.trim(UINT64_MAX)->modules == 1);
  CHECK(runtime.function(*service.kernels[0], 0));
  CHECK(*runtime.forget(0) == 1);
  CHECK(service.code_of(runtime.function(*service.kernels[0], 0)) == ErrorCode::not_found);
  REQUIRE(runtime.thaw());
  CHECK(runtime.function(*service.kernels[0], 0));
}

TEST_CASE("a thaw without a freeze does nothing") {
  FreezeService service;
  REQUIRE(service.runtime->thaw());
  REQUIRE(service.runtime->thaw());
  CHECK(service.runtime->function(*service.kernels[1], 0));
  CHECK_FALSE(service.runtime->refusals()->frozen);
}

TEST_CASE("an observer may freeze and thaw the Runtime") {
  const TempDir folder;
  const Stub stub;
  RuntimeOptions options = device_options(folder / "h");
  std::shared_ptr<Runtime> runtime;
  options.observer = [&](const KernelEvent& event) {
    CHECK((event.source ? runtime->freeze() : runtime->thaw()).has_value());
  };
  runtime = make_runtime(options);
  CHECK(runtime->function(scale_spec(1), 0));  // in flight while it is frozen
  CHECK(runtime->frozen());
  CHECK_FALSE(runtime->function(scale_spec(2), 0));
  CHECK_FALSE(runtime->frozen());
}

TEST_CASE("a capture freezes and is served like any request") {
  FreezeService service;
  Runtime& runtime = *service.runtime;
  const auto device = *runtime.device(0);
  const auto stream = Stream::create(device);
  REQUIRE(stream);
  const auto graph = Graph::capture(*stream, [&]() -> Result<void> {
    CUBINET_TRY(service.freeze({.fallbacks = {{service.kernels[2], service.kernels[0]}}}));
    CHECK_FALSE(runtime.function_on_stream(*service.kernels[1], 0, stream->handle()));
    CHECK(runtime.function_on_stream(*service.kernels[2], 0, stream->handle()));
    const LaunchConfig config{.stream = stream->handle()};
    CUBINET_TRY_ASSIGN(const auto current, device->make_current());
    return runtime.launch(*service.kernels[0], 0, config, ScaleParameters{});
  });
  CHECK_MESSAGE(graph, (graph ? "" : graph.error().to_line()));
}

TEST_CASE("a forked child can neither freeze nor thaw, and does not hang") {
  FreezeService service;
  REQUIRE(service.freeze());
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    Runtime& runtime = *service.runtime;
    const bool refused = !runtime.freeze() && !runtime.thaw() && !runtime.refusals() &&
                         !runtime.function(*service.kernels[1], 0) && runtime.frozen();
    _exit(refused ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("a trim and a release that began before a freeze remove nothing after it") {
  FreezeService service;
  Runtime& runtime = *service.runtime;
  std::atomic<bool> ended{false};
  std::vector<std::thread> threads;
  threads.emplace_back([&] {
    while (!ended)
      static_cast<void>(runtime.trim(UINT64_MAX));
  });
  threads.emplace_back([&] {
    while (!ended) {
      for (const auto& kernel : service.kernels)
        runtime.release(*kernel, 0);
    }
  });
  unsigned lost = 0;
  for (int round = 0; round < 300; ++round) {
    for (const auto& kernel : service.kernels)
      static_cast<void>(runtime.function(*kernel, 0));
    // A freeze that returns an error because a fallback is not loaded changes nothing.
    const bool falls_back =
        service.freeze({.fallbacks = {{service.kernels[0], service.kernels[1]}}}).has_value();
    if (!falls_back && !service.freeze()) ++lost;
    std::vector<bool> loaded;
    const auto is_loaded = [&](const auto& kernel) {
      return runtime.function(*kernel, 0, {}, LoadPolicy::loaded_only).has_value();
    };
    for (const auto& kernel : service.kernels)
      loaded.push_back(is_loaded(kernel));
    if (falls_back && !loaded[1]) ++lost;
    for (int i = 0; i < 3; ++i) {
      std::this_thread::yield();
      for (std::size_t k = 0; k < loaded.size(); ++k)
        lost += loaded[k] && !is_loaded(service.kernels[k]) ? 1U : 0U;
    }
    if (!runtime.thaw()) ++lost;
  }
  ended = true;
  for (std::thread& thread : threads)
    thread.join();
  CHECK(lost == 0);
}

TEST_CASE("threads that request meanwhile see the Runtime frozen or not, and nothing loads after a freeze") {
  FreezeService service;
  if (service.stub.missing()) return;
  Runtime& runtime = *service.runtime;
  std::atomic<bool> ended{false};
  std::atomic<unsigned> wrong{0};
  std::vector<std::thread> threads;
  for (int number = 0; number < 4; ++number) {
    threads.emplace_back([&] {
      while (!ended) {
        if (!runtime.function(*service.kernels[0], 0)) ++wrong;
        const auto other = runtime.function(*service.kernels[1], 0);
        if (!other && other.error().code != ErrorCode::not_found) ++wrong;
      }
    });
  }
  for (int round = 0; round < 100; ++round) {
    if (!service.freeze() || !runtime.thaw()) ++wrong;
    runtime.release(*service.kernels[1], 0);
  }
  if (!service.freeze()) ++wrong;
  ended = true;
  for (std::thread& thread : threads)
    thread.join();
  CHECK(wrong == 0);
  const unsigned loads = service.stub.calls("cuLibraryLoadData");
  CHECK_FALSE(runtime.function(*service.kernels[2], 0));
  CHECK(service.stub.calls("cuLibraryLoadData") == loads);
}

}  // namespace
}  // namespace cubinet
