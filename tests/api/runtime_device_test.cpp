// SPDX-License-Identifier: Apache-2.0
// Tests requests for a device, against the stub driver and, if there is a GPU, unchanged against
// the real driver.
#include "device_fixture.hpp"
#include "store_fixture.hpp"
#include "support/fake_fatbin.hpp"

#include <cubinet/caller_label.hpp>
#include <cubinet/loader/module.hpp>
#include <cubinet/runtime.hpp>

#include <array>
#include <atomic>
#include <span>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace cubinet {
namespace {

using namespace test;

TEST_CASE("a function is compiled, then loaded from the registry, then served by the process") {
  const TempDir home;
  Journal journal;
  const auto first = make_runtime(device_options(home / "h", &journal));
  const CallerLabel label("decode");
  REQUIRE(first->function(scale_spec(), 0));
  REQUIRE(first->function(scale_spec(), 0));
  REQUIRE(journal.events.size() == 1);  // a process hit is not an event
  CHECK(journal.events[0].caller == "decode");
  CHECK(journal.events[0].source == KernelSource::compiled);
  CHECK(journal.events[0].load_seconds > 0);
  CHECK(first->counters().process_hits == 1);
  const auto capability = (*first->device(0))->properties().capability;
  CHECK(journal.events[0].target == targets_for(capability).front());

  Journal second_journal;
  const auto second = make_runtime(device_options(home / "h", &second_journal));
  REQUIRE(second->function(scale_spec(), 0));
  REQUIRE(second_journal.events.size() == 1);
  CHECK(second_journal.events[0].source == KernelSource::registry);
  CHECK(second->counters().bytes_loaded == second_journal.events[0].bytes);
}

TEST_CASE("a request from a log sink or a range hook is served if its kernel is loaded, else busy") {
  // Without a home it is logged in the middle of a compilation that the build is kept in memory.
  const TempDir home;
  auto options = device_options(home / "h");
  options.stores.clear();
  std::shared_ptr<Runtime> runtime;
  int refused = 0;
  const auto request = [&] {
    if (runtime == nullptr) return;
    CHECK(runtime->function(scale_spec(2), 0));
    for (const int factor : {3, 4}) {
      const auto nested = runtime->function(scale_spec(factor), 0);
      if (nested) continue;  // between the load and the end of the range
      CHECK(nested.error().code == ErrorCode::busy);
      ++refused;
    }
    CHECK(runtime->cubin(scale_spec(4), SmTarget{9, 0, TargetKind::baseline}).error().code ==
          ErrorCode::busy);
    CHECK(runtime->rows({9, 0}).error().code == ErrorCode::busy);
    CHECK(runtime->freeze().error().code == ErrorCode::busy);
    CHECK(runtime->thaw());
    CHECK_FALSE(runtime->frozen());
  };
  int logged = 0;
  options.log = [&](const LogRecord&) {
    ++logged;
    request();
  };
  options.ranges = {[&](const char*) { request(); }, request};
  const auto created = make_runtime(std::move(options));
  REQUIRE(created->function(scale_spec(2), 0));
  runtime = created;
  const int logged_before = logged;
  REQUIRE(runtime->function(scale_spec(3), 0));
  CHECK(refused >= 8);
  CHECK(logged >= logged_before);
  REQUIRE(runtime->function(scale_spec(4), 0));
  runtime.reset();
}

TEST_CASE("a function can be launched and knows what it is") {
  const TempDir home;
  const auto runtime = make_runtime(device_options(home / "h"));
  const auto function = runtime->function(scale_spec(), 0, "scale_twice");
  REQUIRE(function);
  CHECK(function->entry_point().name == "scale_twice");
  CHECK(function->entry_point().threads == 64);
  const auto current = (*runtime->device(0))->make_current();
  REQUIRE(current);
  ScaleParameters parameters;  // no elements: the kernel touches no memory
  CHECK(function->launch({}, parameters));
  const auto wrong = function->launch({}, 1.0F);
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().code == ErrorCode::invalid_argument);
}

TEST_CASE("a block of three dimensions that a template declares is the one that is launched") {
  const Stub stub;
  if (stub.missing()) return;
  const TempDir home;
  auto options = device_options(home / "h");
  options.templates = scale_catalog(R"(/* cubinet-template {"name": "brick", "interface": 1,
    "parameters": [{"name": "depth", "type": "int", "default": 2}],
    "kernels": [{"name": "brick", "threads": [8, "2 * depth", "depth"]}]} */
extern "C" __global__ void brick(int* out) { out[threadIdx.z * 32 + threadIdx.y * 8 + threadIdx.x] = 1; }
)");
  const auto runtime = make_runtime(std::move(options));
  const auto launched = [&](int depth, const LaunchConfig& config) {
    const auto function = runtime->function(KernelSpec{"brick", {}}.set("depth", depth), 0);
    REQUIRE_MESSAGE(function.has_value(), function.error().to_line());
    const auto current = (*runtime->device(0))->make_current();
    REQUIRE(current);
    const int* none = nullptr;
    REQUIRE(function->launch(config, none));
    cubinet_stub_launch_record record{};
    std::size_t last = 0;
    while (stub.launch(last, &record) != 0)
      ++last;
    return std::array<std::uint32_t, 3>{record.block[0], record.block[1], record.block[2]};
  };
  using Block = std::array<std::uint32_t, 3>;
  CHECK(launched(2, {}) == Block{8, 4, 2});
  CHECK(launched(3, {}) == Block{8, 6, 3});
  LaunchConfig flat;
  flat.block = {64, 1, 1};
  CHECK(launched(2, flat) == Block{64, 1, 1});
}

TEST_CASE(
    "a source without a declaration is compiled once, kept, and launched with the block of the caller") {
  const TempDir home;
  SourceProgram program;
  program.name = "twice";
  program.text =
      "template <int N> __global__ void twice(float* y, int n) { if (threadIdx.x < n) y[threadIdx.x] *= N; "
      "}\n";
  program.kernels = {"twice<2>", "twice<3>"};
  Journal journal;
  const auto first = make_runtime(device_options(home / "h", &journal));
  const auto prepared = first->resolve(program);
  REQUIRE(prepared);
  CHECK(first->resolve(program)->get() == prepared->get());
  const auto function = first->function(**prepared, 0, "twice<3>");
  REQUIRE_MESSAGE(function.has_value(), function.error().to_line());
  const auto current = (*first->device(0))->make_current();
  REQUIRE(current);
  LaunchConfig config;
  const float* none = nullptr;
  CHECK_FALSE(function->launch(config, none, 0));  // a block without threads
  config.block = {32, 1, 1};
  CHECK(function->launch(config, none, 0));
  CHECK(journal.events.at(0).source == KernelSource::compiled);

  Journal second_journal;
  auto options = device_options(home / "h", &second_journal);
  options.compile = CompilePolicy::never;
  const auto second = make_runtime(std::move(options));
  REQUIRE(second->function(**second->resolve(program), 0));
  CHECK(second_journal.events.at(0).source == KernelSource::registry);
  program.text += "\n";
  CHECK(second->function(**second->resolve(program), 0).error().code == ErrorCode::not_found);
}

TEST_CASE("variables that a source names are set through any function of it, and shared by all who ask") {
  const TempDir home;
  SourceProgram program;
  program.name = "scaled";
  program.text =
      "__constant__ float scale[4] = {1, 1, 1, 1};\n"
      "namespace ns { template <class T> __device__ T table[8]; }\n"
      "extern \"C\" __global__ void scaled(float* y) { y[threadIdx.x] *= scale[threadIdx.x & 3]; }\n";
  program.kernels = {"scaled"};
  program.globals = {"scale", "ns::table<double>"};
  const auto runtime = make_runtime(device_options(home / "h"));
  const auto prepared = runtime->resolve(program);
  REQUIRE(prepared);
  const auto function = runtime->function(**prepared, 0);
  REQUIRE_MESSAGE(function.has_value(), function.error().to_line());
  const auto scale = function->global("scale");
  REQUIRE_MESSAGE(scale.has_value(), scale.error().to_line());
  CHECK(scale->size() == 16);
  const std::array<float, 4> values = {2, 3, 4, 5};
  REQUIRE(scale->copy_from(values, nullptr));
  CHECK(function->global("ns::table<double>")->size() == 64);  // no kernel uses it

  // A second request returns the same module. Another runtime and a reload have their own modules.
  CHECK(runtime->function(**prepared, 0)->global("scale")->address() == scale->address());
  const auto other = make_runtime(device_options(home / "h"));
  const auto others = other->function(**other->resolve(program), 0);
  REQUIRE(others);
  CHECK(others->global("ns::table<double>")->size() == 64);  // the home's record has the name
  CHECK(others->global("scale")->address() != scale->address());
  const auto device = runtime->device(0);
  const auto found = runtime->cubin((*prepared)->spec(), function->record().target);
  REQUIRE(found);
  REQUIRE(found->has_value());
  const auto own = Module::load(*device, (*found)->cubin);
  REQUIRE(own);
  CHECK((*own)->global("scale")->address() != scale->address());

  program.globals = {"scale"};
  CHECK(runtime->resolve(program)->get() != prepared->get());
}

TEST_CASE("an image of the caller is loaded for the device, kept, and found by name by the next process") {
  const TempDir home;
  const auto builder = make_runtime(device_options(home / "builder"));
  const auto opened = builder->device(0);
  REQUIRE(opened);
  const ComputeCapability here = (*opened)->properties().capability;
  const auto built = builder->cubin(scale_spec(), {here.major, here.minor, TargetKind::baseline});
  const auto ptx = builder->cubin(scale_spec(), {8, 0, TargetKind::baseline}, ImageKind::ptx);
  REQUIRE(built);
  REQUIRE(ptx);
  const Bytes file = make_fake_fatbin(
      {{1, *(*ptx)->cubin.image, FatbinPacking::zstd}, {2, *(*built)->cubin.image, FatbinPacking::lz4}});
  Journal journal;
  const auto runtime = make_runtime(device_options(home / "h", &journal));
  const auto prepared = runtime->resolve("mine", file);
  REQUIRE_MESSAGE(prepared.has_value(), prepared.error().to_line());
  const auto function = runtime->function(**prepared, 0, "scale_twice");
  REQUIRE_MESSAGE(function.has_value(), function.error().to_line());
  CHECK(function->record().kind == ImageKind::cubin);
  CHECK(journal.events.at(0).source == KernelSource::registry);
  const auto current = (*runtime->device(0))->make_current();
  REQUIRE(current);
  LaunchConfig config;
  CHECK_FALSE(function->launch(config, ScaleParameters{}));  // a block without threads
  config.block = {32, 1, 1};
  CHECK(function->launch(config, ScaleParameters{}));
  CHECK(function->launch(config, 1).error().code == ErrorCode::invalid_argument);

  const auto second = make_runtime(device_options(home / "h"));
  const auto found = second->resolve("mine");
  REQUIRE(found);
  CHECK((*found)->spec() == (*prepared)->spec());
  CHECK(second->function(**found, 0));
}

TEST_CASE("an observer may ask the runtime for the kernel that it hears of") {
  const TempDir home;
  auto options = device_options(home / "h");
  Runtime* asked = nullptr;
  int answers = 0;
  options.observer = [&](const KernelEvent& event) {
    if (asked->function(event.spec, event.device)) ++answers;
  };
  const auto runtime = make_runtime(std::move(options));
  asked = runtime.get();
  REQUIRE(runtime->function(scale_spec(), 0));
  CHECK(answers == 1);
}

TEST_CASE("a bundle whose record lies about its image is skipped, and the kernel built anew") {
  const TempDir home;
  Journal journal;
  const auto builder = make_runtime(device_options(home / "builder"));
  const auto capability = (*builder->device(0))->properties().capability;
  const SmTarget best = targets_for(capability).front();
  auto options = device_options(home / "h", &journal);
  options.stores.push_back(bundle_of(*builder, home / "lie.bundle", {best}, 9, true));
  const auto runtime = make_runtime(std::move(options));
  REQUIRE(runtime->function(scale_spec(), 0));
  REQUIRE(journal.events.size() == 1);
  CHECK(journal.events[0].source == KernelSource::compiled);
  CHECK(journal.said("bundle build skipped"));
}

TEST_CASE("under compile never the next bundle is tried where one lies") {
  const TempDir home;
  const auto builder = make_runtime(device_options(home / "builder"));
  const auto targets = targets_for((*builder->device(0))->properties().capability);
  Journal journal;
  auto options = device_options(home / "h", &journal);
  options.compile = CompilePolicy::never;
  options.stores = {bundle_of(*builder, home / "lie.bundle", {targets.front()}, 9, true),
                    bundle_of(*builder, home / "good.bundle", {targets.front()}, 1)};
  REQUIRE(make_runtime(options)->function(scale_spec(), 0));
  REQUIRE(journal.events.size() == 1);
  CHECK(journal.events[0].target == targets.front());
}

TEST_CASE("a store that a program adds takes part in requests, explanations and rows") {
  const TempDir home;
  const auto builder = make_runtime(device_options(home / "builder"));
  const auto capability = (*builder->device(0))->properties().capability;
  const auto built = builder->cubin(scale_spec(), targets_for(capability).front());
  REQUIRE(built);
  CubinRecord record = *(*built)->cubin.record;
  record.origin = CubinOrigin::bundle;
  record.version = 1;
  KernelRow row;
  row.implementation = "scale";
  record.row = encode_row(row);
  const auto shelf = std::make_shared<ShelfStore>(KernelSource::bundle, "/a/place/of/my/own", false);
  shelf->put({std::make_shared<const CubinRecord>(record), (*built)->cubin.image});
  Journal journal;
  auto options = device_options(home / "h", &journal);
  options.stores = {shelf};
  options.compile = CompilePolicy::never;
  const auto runtime = make_runtime(std::move(options));
  const auto function = runtime->function(scale_spec(), 0);
  REQUIRE(function);
  CHECK(function->record().digest == record.digest);
  REQUIRE(journal.events.size() == 1);
  CHECK(journal.events[0].source == KernelSource::bundle);
  const auto explanation = runtime->explain(**runtime->resolve(scale_spec()), capability);
  REQUIRE(explanation);
  REQUIRE(explanation->choice() != nullptr);
  CHECK(explanation->choice()->place == "/a/place/of/my/own");
  const auto rows = runtime->rows(capability);
  REQUIRE(rows);
  REQUIRE(rows->rows.size() == 1);
  CHECK(rows->rows.front().record->digest == record.digest);
}

TEST_CASE("where no build loads the refusal of the best is the answer") {
  const TempDir home;
  const auto builder = make_runtime(device_options(home / "builder"));
  const auto targets = targets_for((*builder->device(0))->properties().capability);
  auto options = device_options(home / "h");
  options.compile = CompilePolicy::never;
  options.stores = {bundle_of(*builder, home / "lie.bundle", {targets.front(), targets.back()}, 9, true)};
  const auto function = make_runtime(options)->function(scale_spec(), 0);
  REQUIRE_FALSE(function);
  CHECK(function.error().code == ErrorCode::corruption);
  CHECK(function.error().message.find(targets.front().to_string() + " on device 0") != std::string::npos);
  CHECK(function.error().detail.find("no other build is available") != std::string::npos);
}

TEST_CASE("a kernel that can never load is compiled once") {
  const TempDir home;
  std::string source = kScaleTemplate;
  const std::string kernel = "__global__ void scale(";
  source.replace(source.find(kernel), kernel.size(), "__global__ void __launch_bounds__(64) scale(");
  for (const bool with_home : {true, false}) {
    Journal journal;
    auto options = device_options(home / "h", &journal);
    options.templates = scale_catalog(source);
    if (!with_home) options.stores.clear();
    const auto runtime = make_runtime(std::move(options));
    for (int request = 0; request < 3; ++request) {
      const auto function = runtime->function(scale_spec(), 0);
      REQUIRE_FALSE(function);
      CHECK(function.error().code == ErrorCode::unsupported);
      CHECK(function.error().message.find("128 threads") != std::string::npos);
    }
    REQUIRE(journal.events.size() == 3);
    CHECK(journal.events[0].compile_seconds > 0);
    CHECK(journal.events[1].compile_seconds == 0);
    CHECK(journal.events[2].compile_seconds == 0);
    // The compilation and, at the detailed level, why the image keeps its variables, and both later
    // requests.
    CHECK(journal.lines.size() == 4);
  }
}

TEST_CASE("functions outlive their runtime") {
  const TempDir home;
  auto runtime = make_runtime(device_options(home / "h"));
  auto function = runtime->function(scale_spec(), 0);
  REQUIRE(function);
  const auto device = *runtime->device(0);
  runtime.reset();
  const auto current = device->make_current();
  REQUIRE(current);
  CHECK(function->launch({}, ScaleParameters{}));
}

TEST_CASE("an entry point that a kernel does not have is named") {
  const TempDir home;
  const auto runtime = make_runtime(device_options(home / "h"));
  for (int round = 0; round < 2; ++round) {  // first from the stores, then from the process cache
    const auto function = runtime->function(scale_spec(), 0, "reduce");
    REQUIRE_FALSE(function);
    CHECK(function.error().code == ErrorCode::not_found);
    CHECK(function.error().remedy.find("scale_twice") != std::string::npos);
  }
}

TEST_CASE("a device that is not there is refused by number") {
  const TempDir home;
  const auto runtime = make_runtime(device_options(home / "h"));
  const auto function = runtime->function(scale_spec(), 1000);
  REQUIRE_FALSE(function);
  CHECK(function.error().message.find("1000") != std::string::npos);
}

TEST_CASE("a released kernel is loaded again when it is asked for again") {
  const TempDir home;
  const auto runtime = make_runtime(device_options(home / "h"));
  const auto kernel = *runtime->resolve(scale_spec());
  REQUIRE(runtime->function(*kernel, 0));
  CHECK(runtime->release(*kernel, 0));
  CHECK_FALSE(runtime->release(*kernel, 0));
  REQUIRE(runtime->function(*kernel, 0));
  CHECK(runtime->counters().registry_hits == 1);
}

#if !defined(__SANITIZE_THREAD__)
TEST_CASE("a name that a kernel does not have is a failure, whether the kernel is loaded or not") {
  const TempDir home;
  Journal journal;
  const auto runtime = make_runtime(device_options(home / "h", &journal));
  for (unsigned failures = 1; failures <= 2; ++failures) {
    CHECK_FALSE(runtime->function(scale_spec(), 0, "no_such_kernel"));
    CHECK(runtime->counters().failures == failures);
    REQUIRE_FALSE(journal.events.empty());
    CHECK(journal.events.back().error.has_value());
  }
  CHECK(journal.events.size() == 3);  // and the kernel, compiled
}

TEST_CASE("a forked child releases nothing of its parent") {
  const TempDir home;
  const auto runtime = make_runtime(device_options(home / "h"));
  const auto kernel = *runtime->resolve(scale_spec());
  REQUIRE(runtime->function(*kernel, 0));
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) ::_exit(runtime->release(*kernel, 0) ? 1 : 0);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(runtime->release(*kernel, 0));
}
#endif

TEST_CASE("sixteen threads get one kernel that was compiled and loaded once") {
  const TempDir home;
  const Stub stub;
  const auto runtime = make_runtime(device_options(home / "h"));
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 16; ++i) {
    threads.emplace_back([&] {
      const auto function = runtime->function(scale_spec(), 0);
      if (function && *function) ++right;
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  CHECK(right == 16);
  CHECK(runtime->counters().compiled == 1);
  CHECK(runtime->counters().process_hits == 15);
  if (stub.calls != nullptr) CHECK(stub.calls("cuLibraryLoadData") == 1);
}

TEST_CASE("PTX serves a device that no cubin is there for, and a cubin goes before it") {
  const TempDir home;
  const auto builder = make_runtime(device_options(home / "h"));
  const auto ptx = builder->cubin(scale_spec(), {8, 0, TargetKind::baseline}, ImageKind::ptx);
  REQUIRE(ptx);
  CHECK((*ptx)->cubin.record->target_name() == "compute_80");

  Journal journal;
  auto options = device_options(home / "h", &journal);
  options.compile = CompilePolicy::never;
  const auto user = make_runtime(options);
  const auto function = user->function(scale_spec(), 0);
  REQUIRE(function);
  const auto current = (*user->device(0))->make_current();
  REQUIRE(current);
  CHECK(function->launch({}, ScaleParameters{}));
  REQUIRE(journal.events.size() == 1);
  CHECK(journal.events[0].kind == ImageKind::ptx);

  const auto capability = (*user->device(0))->properties().capability;
  REQUIRE(builder->cubin(scale_spec(), targets_for(capability).back()));
  const auto next = make_runtime(std::move(options));
  REQUIRE(next->function(scale_spec(), 0));
  REQUIRE(journal.events.size() == 2);
  CHECK(journal.events[1].kind == ImageKind::cubin);
}

TEST_CASE("under compile never a miss on a device is explained") {
  const TempDir home;
  auto options = device_options(home / "h");
  options.compile = CompilePolicy::never;
  const auto runtime = make_runtime(std::move(options));
  const auto function = runtime->function(scale_spec(), 0);
  REQUIRE_FALSE(function);
  CHECK(function.error().code == ErrorCode::not_found);
  CHECK(function.error().message.find("compiling is switched off") != std::string::npos);
  CHECK(runtime->counters().misses == 1);
}

}  // namespace
}  // namespace cubinet
