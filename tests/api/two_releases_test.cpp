// SPDX-License-Identifier: Apache-2.0
// Tests one home with two releases of NVRTC. Each release has its own builds and reports those of
// the other as stale.
#include "runtime_fixture.hpp"

#include <cubinet/jit/compiler.hpp>

namespace cubinet {
namespace {

using namespace test;

struct Release {
  std::shared_ptr<Runtime> runtime;
  std::string compiler;

  Release(const std::filesystem::path& home, const CompilerSearch& search, CompilePolicy policy = {}) {
    RuntimeOptions options = runtime_options(home);
    options.compiler = search;
    options.compile = policy;
    runtime = make_runtime(std::move(options));
    compiler = (*runtime->compiler())->identity();
  }
  Result<std::optional<FoundCubin>> ask(const char* target) const {
    return runtime->cubin(scale_spec(), *SmTarget::parse(target));
  }
  KernelSource source(const char* target) const {
    const auto found = ask(target);
    REQUIRE_MESSAGE(found, (found ? "" : found.error().to_line()));
    REQUIRE(*found);
    CHECK((*found)->cubin.record->compiler == compiler);
    return (*found)->source;
  }
  KernelExplanation explain(ComputeCapability device) const {
    const auto kernel = runtime->resolve(scale_spec());
    REQUIRE(kernel);
    const auto explanation = runtime->explain(**kernel, device);
    REQUIRE(explanation);
    return *explanation;
  }
};

TEST_CASE("a kernel that one release compiled is found, stale and explained under the other") {
  const auto later = later_compiler_search();
  if (!later) return;
  const TempDir folder;
  const Release first(folder / "home", compiler_search());
  const Release strict(folder / "home", *later, CompilePolicy::never);
  const Release second(folder / "home", *later);
  REQUIRE(first.compiler != second.compiler);
  CHECK(first.source("sm_90a") == KernelSource::compiled);

  const auto missed = strict.ask("sm_90a");
  REQUIRE(missed);
  CHECK_FALSE(missed->has_value());
  for (const Release* release : {&strict, &second}) {
    const KernelExplanation explanation = release->explain({9, 0});
    CHECK(explanation.choice() == nullptr);
    REQUIRE(explanation.builds.size() == 1);
    CHECK(explanation.builds[0].status == BuildStatus::stale);
    CHECK(explanation.builds[0].verdict ==
          "stale: built by " + first.compiler + "; the compiler here is " + second.compiler);
  }
  // Each release keeps its own build and continues to find it.
  CHECK(second.source("sm_90a") == KernelSource::compiled);
  for (const Release* release : {&first, &second, &strict}) {
    CHECK(release->source("sm_90a") == KernelSource::registry);
    const KernelExplanation explanation = release->explain({9, 0});
    REQUIRE(explanation.builds.size() == 2);
    CHECK(explanation.builds[0].record->compiler == release->compiler);
    CHECK(explanation.builds[0].status == BuildStatus::current);
    CHECK(explanation.builds[1].status == BuildStatus::stale);
  }
}

TEST_CASE("where the wheel of NVRTC is all that there is its own headers are put into the home") {
  const auto later = later_compiler_search();
  if (!later) return;
  const TempDir folder;
  RuntimeOptions options = runtime_options(folder / "home");
  const auto home = std::dynamic_pointer_cast<Home>(options.stores.front());
  REQUIRE(home != nullptr);
  options.compiler = *later;
  options.templates = scale_catalog(std::string(kScaleTemplate) + "#include <cuda_fp16.h>\n");
  const auto found = make_runtime(std::move(options))->cubin(scale_spec(), *SmTarget::parse("sm_90a"));
  REQUIRE_MESSAGE(found, (found ? "" : found.error().to_line()));
  CHECK((*found)->source == KernelSource::compiled);
  CHECK(std::filesystem::is_directory(folder / "home/headers"));
  const auto verified = home->verify();
  REQUIRE(verified);
  CHECK(verified->findings.empty());
  REQUIRE(home->sweep());
  CHECK(std::filesystem::exists(folder / "home/headers"));
}

TEST_CASE("a device newer than a release gets family code of it, and its own of the release that knows it") {
  const auto later = later_compiler_search();
  if (!later) return;
  const TempDir folder;
  const ComputeCapability device{10, 7};
  const Release first(folder / "home", compiler_search());
  const Release second(folder / "home", *later);
  CHECK(first.explain(device).would_compile == *SmTarget::parse("sm_103f"));
  CHECK(second.explain(device).would_compile == *SmTarget::parse("sm_107a"));
  for (const char* target : {"sm_107", "sm_107f", "sm_107a"}) {
    CHECK(first.ask(target).error().code == ErrorCode::unsupported);
    CHECK(second.source(target) == KernelSource::compiled);
    CHECK(second.source(target) == KernelSource::registry);
    CHECK(second.explain(device).choice()->record->target == *SmTarget::parse(target));
  }
  // The stored build is used if there is no compiler at all.
  CompilerSearch nowhere;
  nowhere.library = (folder / "no such library").string();
  RuntimeOptions options = runtime_options(folder / "home");
  options.compiler = nowhere;
  const auto found = make_runtime(std::move(options))->cubin(scale_spec(), *SmTarget::parse("sm_107a"));
  REQUIRE(found);
  REQUIRE(*found);
  CHECK((*found)->cubin.record->compiler == second.compiler);
}

}  // namespace
}  // namespace cubinet
