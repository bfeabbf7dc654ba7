// SPDX-License-Identifier: Apache-2.0
// Tests creation, homes and bad input, which need neither a compiler nor a device.
#include "runtime_fixture.hpp"

#include <cubinet/jit/compiler.hpp>
#include <cubinet/runtime.hpp>

#include <sys/wait.h>
#include <unistd.h>

namespace cubinet {
namespace {

using namespace test;

constexpr SmTarget kTarget{9, 0, TargetKind::specific};

TEST_CASE("two runtimes share nothing but the files of their home") {
  const TempDir home;
  const auto first = make_runtime(runtime_options(home / "h"));
  const auto second = make_runtime(runtime_options(home / "h"));
  const auto kernel = first->resolve(scale_spec());
  REQUIRE(kernel);
  CHECK(*first->resolve(scale_spec()) == *kernel);
  const auto foreign = second->function(**kernel, 0);
  REQUIRE_FALSE(foreign);
  CHECK(foreign.error().code == ErrorCode::invalid_argument);
  CHECK_FALSE(second->release(**kernel, 0));
}

TEST_CASE("defaults written out or left out are the same kernel") {
  const TempDir home;
  const auto runtime = make_runtime(runtime_options(home / "h"));
  const auto brief = runtime->resolve(scale_spec());
  const auto full = runtime->resolve(scale_spec().set("unroll", 1));
  REQUIRE(brief);
  REQUIRE(full);
  CHECK(*brief == *full);
}

TEST_CASE("unknown templates, parameters and values are refused with what there is") {
  const TempDir home;
  const auto runtime = make_runtime(runtime_options(home / "h"));
  const auto code = [&](const KernelSpec& spec) {
    const auto prepared = runtime->resolve(spec);
    return prepared ? ErrorCode::internal : prepared.error().code;
  };
  CHECK(code(KernelSpec{"skale", {}}) == ErrorCode::not_found);
  CHECK(code(scale_spec().set("colour", 3)) == ErrorCode::invalid_argument);
  CHECK(code(scale_spec(1001)) == ErrorCode::invalid_argument);
  CHECK(code(scale_spec().set("unroll", 3)) == ErrorCode::invalid_argument);
  CHECK(code(scale_spec().set("unroll", "two")) == ErrorCode::invalid_argument);
  CHECK(code(KernelSpec{"scale", {}}) == ErrorCode::invalid_argument);
}

TEST_CASE("a negative device is refused") {
  const TempDir home;
  const auto runtime = make_runtime(runtime_options(home / "h"));
  const auto function = runtime->function(scale_spec(), -1);
  REQUIRE_FALSE(function);
  CHECK(function.error().code == ErrorCode::invalid_argument);
}

TEST_CASE("a request that fails in any way counts as a failure and is observed once") {
  const TempDir home;
  Journal journal;
  auto options = runtime_options(home / "h", &journal);
  options.driver_library = "libcuda-that-is-not-there.so.1";
  const auto runtime = make_runtime(std::move(options));
  const auto other = make_runtime(runtime_options(home / "h"));
  const auto foreign = other->resolve(scale_spec());
  REQUIRE(foreign);
  CHECK_FALSE(runtime->function(scale_spec(), -1));
  CHECK_FALSE(runtime->function(**foreign, 0));
  CHECK_FALSE(runtime->function(scale_spec(), 0));
  CHECK_FALSE(runtime->cubin(scale_spec(1001), kTarget));
  CHECK_FALSE(runtime->cubin(scale_spec(), {7, 5, TargetKind::baseline}));
  CHECK(runtime->counters().failures == 5);
  REQUIRE(journal.events.size() == 5);
  for (const KernelEvent& event : journal.events) {
    CHECK(event.error.has_value());
    CHECK(event.spec.name == "scale");
  }
}

TEST_CASE("a missing driver is said when a function is asked for, not before") {
  const TempDir home;
  auto options = runtime_options(home / "h");
  options.driver_library = "libcuda-that-is-not-there.so.1";
  const auto runtime = make_runtime(std::move(options));
  const auto function = runtime->function(scale_spec(), 0);
  REQUIRE_FALSE(function);
  CHECK(function.error().code == ErrorCode::unavailable);
  CHECK(runtime->counters().failures == 1);
}

TEST_CASE("without a store everything stays in memory") {
  const TempDir folder;
  auto options = runtime_options(folder / "h");
  options.stores.clear();
  const auto runtime = make_runtime(std::move(options));
  REQUIRE(runtime->stores().size() == 1);
  const auto built = runtime->cubin(scale_spec(), kTarget);
  REQUIRE(built);
  CHECK((*built)->source == KernelSource::compiled);
  const auto again = runtime->cubin(scale_spec(), kTarget);
  REQUIRE(again);
  CHECK((*again)->source == KernelSource::memory);
  CHECK(runtime->counters().memory_hits == 1);
}

TEST_CASE("a request for what cannot be prepared is counted and told like any other") {
  const TempDir home;
  Journal journal;
  const auto runtime = make_runtime(runtime_options(home / "h", &journal));
  CHECK_FALSE(runtime->function(KernelSpec{"skale", {}}, 0));
  CHECK_FALSE(runtime->cubin(KernelSpec{"skale", {}}, kTarget));
  CHECK(runtime->counters().failures == 2);
  REQUIRE(journal.events.size() == 2);
  CHECK(journal.events[0].spec.name == "skale");
  CHECK(journal.events[0].device == 0);
  REQUIRE(journal.events[1].error.has_value());
  CHECK(journal.events[1].error->code == ErrorCode::not_found);
}

TEST_CASE("a bundle serves its kernels without the source of their template") {
  const TempDir folder;
  const auto builder = make_runtime(runtime_options(folder / "builder"));
  const auto built = builder->cubin(scale_spec(), kTarget);
  REQUIRE(built);
  const Cubin& cubin = (*built)->cubin;
  REQUIRE(create_bundle(folder.path() / "x.bundle", {cubin}, {"x", 1}));
  RuntimeOptions options;
  options.stores = {open_bundle(folder / "x.bundle")};
  options.compiler = compiler_search();
  const auto runtime = make_runtime(std::move(options));
  const auto found = runtime->cubin(scale_spec(), kTarget);
  REQUIRE(found);
  REQUIRE(*found);
  CHECK((*found)->cubin.record->digest == cubin.record->digest);
  CHECK(runtime->counters().bundle_hits == 1);
  const auto by_key = runtime->resolve(cubin.record->identity.key().to_string());
  REQUIRE(by_key);
  CHECK(*runtime->resolve("scale_twice") == *by_key);
  CHECK((*by_key)->spec() == scale_spec().set("unroll", 1));
  const auto explanation = runtime->explain(**by_key, {9, 0});
  REQUIRE(explanation);
  REQUIRE(explanation->choice() != nullptr);
  CHECK(explanation->choice()->record->digest == cubin.record->digest);
  const auto elsewhere = runtime->cubin(scale_spec(), {8, 0, TargetKind::baseline});
  REQUIRE(elsewhere);
  CHECK_FALSE(elsewhere->has_value());  // no component makes this build
}

TEST_CASE("a kernel of another Runtime is explained by none but its own") {
  const TempDir home;
  const auto first = make_runtime(runtime_options(home / "h"));
  const auto second = make_runtime(runtime_options(home / "h"));
  const auto kernel = *first->resolve(scale_spec());
  CHECK(first->explain(*kernel, {9, 0}));
  const auto refused = second->explain(*kernel, {9, 0});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::invalid_argument);
}

TEST_CASE("a policy that can be met by no target is refused when the Runtime is made") {
  RuntimeOptions options;
  options.targets.pinned = kTarget;
  options.targets.forbidden = {kTarget};
  const auto refused = Runtime::create(std::move(options));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::invalid_argument);
}

#if !defined(__SANITIZE_THREAD__)
TEST_CASE("a runtime of the parent refuses to work in a forked child") {
  const TempDir home;
  const auto runtime = make_runtime(runtime_options(home / "h"));
  const auto kernel = runtime->resolve(scale_spec());
  REQUIRE(kernel);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const auto refused = [](const auto& result) {
      return !result && result.error().code == ErrorCode::unsupported;
    };
    ::_exit(refused(runtime->cubin(scale_spec(), kTarget)) && refused(runtime->resolve(scale_spec())) &&
                    refused(runtime->function(scale_spec(), 0)) && refused(runtime->function(**kernel, 0)) &&
                    refused(runtime->device(0)) && refused(runtime->compiler()) &&
                    refused(runtime->resolve("scale")) && refused(runtime->rows({9, 0})) &&
                    refused(runtime->explain(**kernel, {9, 0})) && !runtime->release(**kernel, 0)
                ? 0
                : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}
#endif

}  // namespace
}  // namespace cubinet
