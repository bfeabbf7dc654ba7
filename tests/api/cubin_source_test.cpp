// SPDX-License-Identifier: Apache-2.0
// Tests the path from a specification to bytes, with real NVRTC and without a device.
#include "cubin_source.hpp"

#include "runtime_fixture.hpp"
#include "store_fixture.hpp"

#include <atomic>
#include <fstream>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace cubinet {
namespace {

using namespace test;

constexpr SmTarget kSpecific{9, 0, TargetKind::specific};
constexpr SmTarget kBaseline{9, 0, TargetKind::baseline};

CachedKernel scale_kernel() {
  const auto kernel_template = scale_catalog().find("scale");
  REQUIRE(kernel_template);
  const auto resolved = (*kernel_template)->resolve(scale_spec());
  REQUIRE(resolved);
  return CachedKernel(nullptr, *kernel_template, *resolved);
}

KernelSource source_of(Runtime& runtime, const KernelSpec& spec, SmTarget target) {
  const auto found = runtime.cubin(spec, target);
  REQUIRE(found);
  REQUIRE(found->has_value());
  return (*found)->source;
}

TEST_CASE("a kernel is compiled once, then found by this process and by the next") {
  const TempDir home;
  Journal journal;
  const auto runtime = make_runtime(runtime_options(home / "h", &journal));
  CHECK(source_of(*runtime, scale_spec(), kSpecific) == KernelSource::compiled);
  CHECK(source_of(*runtime, scale_spec(), kSpecific) == KernelSource::registry);
  const auto next = make_runtime(runtime_options(home / "h"));
  CHECK(source_of(*next, scale_spec(), kSpecific) == KernelSource::registry);
  CHECK(runtime->counters().compiled == 1);
  CHECK(runtime->counters().registry_hits == 1);
  REQUIRE(journal.events.size() == 2);
  CHECK(journal.events[0].compile_seconds > 0);
  CHECK(journal.events[0].bytes > 0);
  CHECK(journal.events[1].compile_seconds == 0);
  CHECK(journal.events[1].key == identify(journal.events[1].spec, kSpecific).key());
}

TEST_CASE("a source that the compiler is not given is refused once, as an error or a warning") {
  const TempDir home;
  Journal journal;
  const std::string computed =
      std::string(kScaleTemplate) + "#define WHATEVER </etc/hosts>\n#include WHATEVER\n";
  auto options = runtime_options(home / "h", &journal);
  options.templates = scale_catalog(computed);
  const auto refused = make_runtime(options)->cubin(scale_spec(), kSpecific);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.find("WHATEVER") != std::string::npos);
  CHECK_FALSE(journal.said("WHATEVER"));
  // Only the log names the reason if a local build exists and no other is made.
  CHECK(source_of(*make_runtime(runtime_options(home / "h")), scale_spec(), kSpecific) ==
        KernelSource::compiled);
  const auto again = make_runtime(options)->cubin(scale_spec(), kSpecific);
  CHECK_FALSE(again);
  CHECK_FALSE(journal.said("WHATEVER"));
  options.compile = CompilePolicy::never;
  const auto found = make_runtime(options)->cubin(scale_spec(), kSpecific);
  REQUIRE(found);
  CHECK_FALSE(found->has_value());
  CHECK(journal.said("WHATEVER"));
}

TEST_CASE("a template whose text changed is another build under the same key") {
  const TempDir home;
  const auto runtime = make_runtime(runtime_options(home / "h"));
  CHECK(source_of(*runtime, scale_spec(), kSpecific) == KernelSource::compiled);
  auto options = runtime_options(home / "h");
  options.templates = scale_catalog(std::string(kScaleTemplate) + "// changed\n");
  const auto changed = make_runtime(std::move(options));
  CHECK(source_of(*changed, scale_spec(), kSpecific) == KernelSource::compiled);
  // Both builds are stored: two compilers, or two versions of a template, share a home.
  CHECK(source_of(*runtime, scale_spec(), kSpecific) == KernelSource::registry);
  CHECK(source_of(*changed, scale_spec(), kSpecific) == KernelSource::registry);
}

TEST_CASE("a header that changes under a prepared kernel makes what is kept stale") {
  const TempDir home;
  const TempDir headers;
  std::ofstream(headers / "a.h") << "#define A 1\n";
  Journal journal;
  RuntimeOptions options = runtime_options(home / "h", &journal);
  options.templates = scale_catalog(std::string(kScaleTemplate) + "#include <a.h>\n");
  options.compile_options.include_directories = {headers.path()};
  const auto runtime = make_runtime(std::move(options));
  const auto fingerprint = [&] {
    const auto found = runtime->cubin(scale_spec(), kSpecific);
    REQUIRE(found);
    REQUIRE(*found);
    return (*found)->cubin.record->fingerprint;
  };
  const BuildFingerprint before = fingerprint();
  CHECK(fingerprint() == before);
  std::ofstream(headers / "a.h") << "#define A 22\n";
  CHECK(fingerprint() != before);
  std::ofstream(headers / "a.h") << "#define A 1\n";
  CHECK(fingerprint() == before);
  std::vector<std::optional<KernelSource>> sources;
  for (const KernelEvent& event : journal.events)
    sources.push_back(event.source);
  using S = KernelSource;
  CHECK(sources == std::vector<std::optional<S>>{S::compiled, S::registry, S::compiled, S::registry});
}

TEST_CASE("sixteen threads that want one kernel compile it once") {
  const TempDir home;
  const auto runtime = make_runtime(runtime_options(home / "h"));
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 16; ++i) {
    threads.emplace_back([&] {
      const auto found = runtime->cubin(scale_spec(), kSpecific);
      if (found && *found && sha256(*(*found)->cubin.image) == (*found)->cubin.record->digest) ++right;
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  CHECK(right == 16);
  CHECK(open_home(home / "h")->list()->size() == 1);
  CHECK(runtime->counters().compiled == 1);
  CHECK(runtime->counters().registry_hits == 15);
}

TEST_CASE("of nodes that share a cache one compiles, and the others keep what it made") {
  const TempDir folder;
  const auto cache = std::make_shared<ShelfCache>();
  const auto node = [&](const std::string& name) {
    RuntimeOptions options = runtime_options(folder / name);
    options.caches.push_back(cache);
    return make_runtime(std::move(options));
  };
  const auto first = node("first");
  CHECK(source_of(*first, scale_spec(), kSpecific) == KernelSource::compiled);
  REQUIRE(cache->candidates.size() == 1);
  const auto second = node("second");
  CHECK(source_of(*second, scale_spec(), kSpecific) == KernelSource::server);
  CHECK(source_of(*second, scale_spec(), kSpecific) == KernelSource::registry);
  CHECK(second->counters().compiled == 0);
  CHECK(second->counters().server_hits == 1);
  CHECK(second->counters().stores.back().used == 1);
  CHECK(cache->asked == 2);
  CHECK(cache->candidates.size() == 1);  // a build that came from the cache is not sent back
  CHECK(source_of(*node("second"), scale_spec(), kSpecific) == KernelSource::registry);
  // Another source text is another build. A cache that does not answer has no effect on the result.
  cache->silent = true;
  CHECK(source_of(*node("third"), scale_spec(), kSpecific) == KernelSource::compiled);
}

TEST_CASE("a node that never compiles takes from the cache what would be made, and keeps it") {
  const TempDir folder;
  const auto cache = std::make_shared<ShelfCache>();
  const auto node = [&](const std::string& name, CompilePolicy compile) {
    RuntimeOptions options = runtime_options(folder / name);
    options.caches.push_back(cache);
    options.compile = compile;
    return make_runtime(std::move(options));
  };
  const auto strict = node("strict", CompilePolicy::never);
  const auto missed = strict->cubin(scale_spec(), kSpecific);
  REQUIRE(missed);
  CHECK_FALSE(missed->has_value());
  CHECK(cache->asked == 1);
  CHECK(source_of(*node("builder", CompilePolicy::on_miss), scale_spec(), kSpecific) ==
        KernelSource::compiled);
  CHECK(source_of(*strict, scale_spec(), kSpecific) == KernelSource::server);
  CHECK(source_of(*strict, scale_spec(), kSpecific) == KernelSource::registry);
  CHECK(strict->counters().compiled == 0);

  Library library({}, {}, {cache});
  Environment environment(compiler_search(), {}, {});
  CubinSource source(library, environment, CompilePolicy::never, {}, {});
  const CachedKernel kernel = scale_kernel();
  const auto taken = source.for_device(kernel, {9, 0});
  REQUIRE(taken);
  CHECK(taken->source == KernelSource::server);
  // No build exists for another device.
  const auto other = source.for_device(kernel, {8, 0});
  REQUIRE_FALSE(other);
  CHECK(other.error().code == ErrorCode::not_found);
  CHECK(other.error().message.find("compiling is switched off; no build of it by ") != std::string::npos);
  CHECK(other.error().message.find(cache->place()) != std::string::npos);
}

TEST_CASE("where there is no registry those who waited for a build have it from memory") {
  const TempDir home;
  auto options = runtime_options(home / "h");
  options.stores.clear();
  const auto runtime = make_runtime(std::move(options));
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] { CHECK(runtime->cubin(scale_spec(), kSpecific).has_value()); });
  for (std::thread& thread : threads)
    thread.join();
  CHECK(runtime->counters().compiled == 1);
  CHECK(runtime->counters().memory_hits == 7);
}

#if !defined(__SANITIZE_THREAD__)
TEST_CASE("processes that want one kernel compile it once") {
  const TempDir home;
  constexpr int kProcesses = 4;
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      const auto runtime = make_runtime(runtime_options(home / "h"));
      const auto found = runtime->cubin(scale_spec(), kSpecific);
      if (!found || !*found) ::_exit(100);
      ::_exit((*found)->source == KernelSource::compiled ? 1 : 0);
    }
    children.push_back(child);
  }
  int compiled = 0;
  for (const pid_t child : children) {
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status));
    REQUIRE(WEXITSTATUS(status) < 100);
    compiled += WEXITSTATUS(status);
  }
  CHECK(compiled == 1);
}
#endif

TEST_CASE("under compile never a miss is empty for a target and explained for a device") {
  const TempDir home;
  auto options = runtime_options(home / "h");
  options.compile = CompilePolicy::never;
  const auto runtime = make_runtime(std::move(options));
  const auto found = runtime->cubin(scale_spec(), kSpecific);
  REQUIRE(found);
  CHECK_FALSE(found->has_value());
  CHECK(runtime->counters().misses == 1);

  Library library({}, {});
  Environment environment(compiler_search(), {}, {});
  CubinSource source(library, environment, CompilePolicy::never, {}, {});
  const auto missed = source.for_device(scale_kernel(), {9, 0});
  REQUIRE_FALSE(missed);
  CHECK(missed.error().code == ErrorCode::not_found);
  CHECK(missed.error().message.find("targets looked for: sm_90a, sm_90, compute_90a, compute_90,") !=
        std::string::npos);
  CHECK(missed.error().remedy.find("`RuntimeOptions::compile`") != std::string::npos);
}

TEST_CASE("a miss on an unknown device names what was looked for, and the policy where that is nothing") {
  Library library({}, {});
  Environment environment(compiler_search(), {}, {});
  const CachedKernel kernel = scale_kernel();
  const auto message = [&](const TargetPolicy& policy, ComputeCapability device) {
    CubinSource source(library, environment, CompilePolicy::never, policy, {});
    return source.for_device(kernel, device).error().message;
  };
  CHECK(message({}, {13, 0}).find("(targets looked for: compute_121, compute_120,") != std::string::npos);
  CHECK(message({}, {7, 0}).find("(targets looked for: none)") != std::string::npos);
  TargetPolicy pinned;
  pinned.pinned = kSpecific;
  CHECK(message(pinned, {8, 0}).find("(targets looked for: none, pins sm_90a)") != std::string::npos);
}

TEST_CASE("the specific target wins over the baseline and a removal falls back to it") {
  const TempDir home;
  Environment environment(compiler_search(), {}, {});
  const CachedKernel kernel = scale_kernel();
  const auto runtime = make_runtime(runtime_options(home / "h"));
  CHECK(source_of(*runtime, scale_spec(), kBaseline) == KernelSource::compiled);

  const auto kept = open_home(home / "h");
  Library warm({kept}, {});
  CubinSource source(warm, environment, CompilePolicy::never, {}, {});
  const auto baseline = source.for_device(kernel, {9, 0});
  REQUIRE(baseline);
  CHECK(baseline->cubin.record->target == kBaseline);

  CHECK(source_of(*runtime, scale_spec(), kSpecific) == KernelSource::compiled);
  const auto specific = source.for_device(kernel, {9, 0});
  REQUIRE(specific);
  CHECK(specific->cubin.record->target == kSpecific);

  REQUIRE(kept->remove({specific->cubin.record}));
  const auto fallback = source.for_device(kernel, {9, 0});
  REQUIRE(fallback);
  CHECK(fallback->cubin.record->target == kBaseline);
}

TEST_CASE("a cubin that was damaged on disk is set aside and compiled again") {
  const TempDir home;
  Journal journal;
  const auto runtime = make_runtime(runtime_options(home / "h", &journal));
  const auto found = runtime->cubin(scale_spec(), kSpecific);
  REQUIRE(found);
  const std::string hex = (*found)->cubin.record->digest.to_hex();
  const auto file = home / "h" / "cubins" / hex.substr(0, 2) / (hex + ".cubin");
  REQUIRE(std::filesystem::exists(file));
  std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp(200);
    stream.put('\x7f');
  }
  const auto again = runtime->cubin(scale_spec(), kSpecific);
  REQUIRE(again);
  CHECK((*again)->source == KernelSource::compiled);
  CHECK(sha256(*(*again)->cubin.image) == (*again)->cubin.record->digest);
  CHECK_FALSE(journal.lines.empty());
  CHECK(source_of(*runtime, scale_spec(), kSpecific) == KernelSource::registry);
}

TEST_CASE("without NVRTC a kernel that is kept is found and one that is not says what is missing") {
  const TempDir home;
  CHECK(source_of(*make_runtime(runtime_options(home / "h")), scale_spec(), kSpecific) ==
        KernelSource::compiled);
  auto options = runtime_options(home / "h");
  options.compiler.library = home / "no-such-libnvrtc.so";
  const auto runtime = make_runtime(std::move(options));
  CHECK(source_of(*runtime, scale_spec(), kSpecific) == KernelSource::registry);
  const auto missing = runtime->cubin(scale_spec(4), kSpecific);
  REQUIRE_FALSE(missing);
  CHECK(missing.error().code == ErrorCode::unavailable);
  CHECK(missing.error().message.find("no-such-libnvrtc") != std::string::npos);
}

}  // namespace
}  // namespace cubinet
