// SPDX-License-Identifier: Apache-2.0
// Creation, homes and bad input: what needs neither a compiler nor a device to be told.
#include "runtime_fixture.hpp"

#include <cubinet/runtime.hpp>

#include <fstream>
#include <sys/stat.h>
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
  const auto kernel = first->prepare(scale_spec());
  REQUIRE(kernel);
  CHECK(*first->prepare(scale_spec()) == *kernel);
  const auto foreign = second->function(**kernel, 0);
  REQUIRE_FALSE(foreign);
  CHECK(foreign.error().code == ErrorCode::invalid_argument);
  CHECK_FALSE(second->release(**kernel, 0));
}

TEST_CASE("defaults written out or left out are the same kernel") {
  const TempDir home;
  const auto runtime = make_runtime(runtime_options(home / "h"));
  const auto brief = runtime->prepare(scale_spec());
  const auto full = runtime->prepare(scale_spec().set("unroll", 1));
  REQUIRE(brief);
  REQUIRE(full);
  CHECK(*brief == *full);
}

TEST_CASE("unknown templates, parameters and values are refused with what there is") {
  const TempDir home;
  const auto runtime = make_runtime(runtime_options(home / "h"));
  const auto code = [&](const KernelSpec& spec) {
    const auto prepared = runtime->prepare(spec);
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

TEST_CASE("a missing driver is said when a function is asked for, not before") {
  const TempDir home;
  auto options = runtime_options(home / "h");
  options.driver.library = "libcuda-that-is-not-there.so.1";
  const auto runtime = make_runtime(std::move(options));
  const auto function = runtime->function(scale_spec(), 0);
  REQUIRE_FALSE(function);
  CHECK(function.error().code == ErrorCode::unavailable);
  CHECK(runtime->counters().failures == 1);
}

TEST_CASE("a home that others can write is not used and that is said once") {
  const TempDir folder;
  const auto home = folder / "h";
  std::filesystem::create_directory(home);
  REQUIRE(::chmod(home.c_str(), 0777) == 0);
  Journal journal;
  const auto runtime = make_runtime(runtime_options(home, &journal));
  CHECK(runtime->registry() == nullptr);
  CHECK(journal.said("the home is not used"));
  CHECK(journal.lines.size() == 1);
  CHECK(std::filesystem::is_empty(home));
}

TEST_CASE("a home below a file cannot be used and everything stays in memory") {
  const TempDir folder;
  std::ofstream(folder / "file") << "x";
  Journal journal;
  const auto runtime = make_runtime(runtime_options(folder / "file" / "h", &journal));
  CHECK(runtime->registry() == nullptr);
  const auto built = runtime->cubin(scale_spec(), kTarget);
  REQUIRE(built);
  CHECK((*built)->source == KernelSource::compiled);
  const auto again = runtime->cubin(scale_spec(), kTarget);
  REQUIRE(again);
  CHECK((*again)->source == KernelSource::memory);
  CHECK(runtime->counters().memory_hits == 1);
}

TEST_CASE("a bundle that cannot be opened is an error") {
  const TempDir folder;
  auto options = runtime_options(folder / "h");
  options.bundles.push_back(folder / "none.bundle");
  const auto runtime = Runtime::create(std::move(options));
  REQUIRE_FALSE(runtime);
  CHECK(runtime.error().message.find("none.bundle") != std::string::npos);
}

#if !defined(__SANITIZE_THREAD__)
TEST_CASE("a runtime of the parent refuses to work in a forked child") {
  const TempDir home;
  const auto runtime = make_runtime(runtime_options(home / "h"));
  const auto kernel = runtime->prepare(scale_spec());
  REQUIRE(kernel);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const auto refused = [](const auto& result) {
      return !result && result.error().code == ErrorCode::unsupported;
    };
    ::_exit(refused(runtime->cubin(scale_spec(), kTarget)) && refused(runtime->prepare(scale_spec())) &&
                    refused(runtime->function(scale_spec(), 0)) && refused(runtime->function(**kernel, 0)) &&
                    refused(runtime->device(0)) && refused(runtime->compiler()) &&
                    !runtime->release(**kernel, 0)
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
