// SPDX-License-Identifier: Apache-2.0
#include "cubin_source.hpp"
#include "device_fixture.hpp"
#include "fake_compiler.hpp"
#include "support/failing_allocations.hpp"

#include <new>

namespace cubinet {
namespace {

using namespace test;

TEST_CASE("a hit allocates nothing, by whatever entry point it is asked for") {
  // The name's argument is too long for the small buffer of a string.
  std::string source = kScaleTemplate;
  for (const std::string& before :
       {std::string("\"kernels\": [ {\"name\": \"scale"), std::string("void scale")})
    source.insert(source.find(before) + before.size(), "_each_element_by_the_factor");
  const TempDir home;
  auto options = device_options(home / "h");
  options.templates = scale_catalog(source);
  const auto runtime = make_runtime(std::move(options));
  const auto kernel = *runtime->resolve(scale_spec());
  REQUIRE(runtime->function(*kernel, 0));
  for (const std::string_view entry_point : {"", "scale_each_element_by_the_factor", "scale_twice"}) {
    const unsigned before = allocations();
    const bool found = runtime->function(*kernel, 0, entry_point).has_value();
    const unsigned after = allocations();
    CHECK(found);
    CHECK_MESSAGE(after == before, entry_point);
  }
  CHECK(allocations() > 0);
}

TEST_CASE("a hit by specification allocates nothing, whether the specification is complete or not") {
  const TempDir home;
  const auto runtime = make_runtime(device_options(home / "h"));
  const KernelSpec complete = (*runtime->resolve(scale_spec()))->spec();
  const KernelSpec requested[] = {scale_spec(), complete};
  for (const KernelSpec& spec : requested)
    REQUIRE(runtime->function(spec, 0));
  for (const KernelSpec& spec : requested) {
    const std::uint64_t hits = runtime->counters().process_hits;
    const unsigned before = allocations();
    const bool found = runtime->function(spec, 0, "scale_twice").has_value();
    const unsigned after = allocations();
    CHECK(found);
    CHECK(after == before);
    CHECK(runtime->counters().process_hits == hits + 1);
  }
}

// Requests also allocate a flight, which others may join, and a build that is kept.
TEST_CASE("memory that is exhausted anywhere in a request leaves nothing behind that stops the next") {
  const TemplateCatalog templates = row_catalog();
  const SmTarget target{9, 0, TargetKind::specific};
  const auto compiler = std::make_shared<FakeCompiler>();
  FakeEnvironment environment(compiler);
  unsigned failed = 0;
  for (unsigned number = 1; failed + 1 == number; ++number) {
    Library library({}, {});
    KernelCache prepared(std::make_shared<const char>(), templates, library);
    CubinSource source(library, environment, CompilePolicy::on_miss, {}, {});
    fail_allocation(number);
    try {
      const auto kernel = prepared.resolve(factor_spec());
      const bool found = kernel && source.for_target(**kernel, target, ImageKind::cubin).has_value();
      fail_allocation(0);
      CHECK(found);
    } catch (const std::bad_alloc&) {
      fail_allocation(0);
      ++failed;
    }
    const auto kernel = prepared.resolve(factor_spec());
    REQUIRE(kernel);
    const auto found = source.for_target(**kernel, target, ImageKind::cubin);
    REQUIRE(found);
    REQUIRE(*found);
    CHECK((*found)->cubin.record->fingerprint == fake_fingerprint("today"));
  }
  CHECK(failed > 50);
}

// A build in a home allocates a build lock, a compilation, a file, its record and an index row.
TEST_CASE(
    "memory that is exhausted anywhere in a build that a home keeps leaves nothing that stops the next" *
    doctest::test_suite("loop")) {
  const TempDir folder;
  const TemplateCatalog templates = row_catalog();
  const SmTarget target{9, 0, TargetKind::specific};
  const auto compiler = std::make_shared<FakeCompiler>();
  FakeEnvironment environment(compiler);
  const test::Sampling sampling = test::one_of_each(3);
  bool reached = true;
  unsigned failed = 0;
  for (auto number = static_cast<unsigned>(sampling.start) + 1; reached && number < 1000;
       number += static_cast<unsigned>(sampling.stride)) {
    CAPTURE(number);
    // Each round has a new home. A look-up allocates more in a home that grows.
    Library library({open_home(folder / ("h" + std::to_string(number)))}, {});
    KernelCache prepared(std::make_shared<const char>(), templates, library);
    CubinSource source(library, environment, CompilePolicy::on_miss, {}, {});
    const KernelSpec spec = factor_spec(static_cast<int>(number));
    const unsigned before = allocations();
    fail_allocation(number);
    try {
      const auto kernel = prepared.resolve(spec);
      if (kernel) static_cast<void>(source.for_target(**kernel, target, ImageKind::cubin));
      fail_allocation(0);
    } catch (const std::bad_alloc&) {
      fail_allocation(0);
      ++failed;
    }
    reached = allocations() - before >= number;
    const auto kernel = prepared.resolve(spec);
    REQUIRE(kernel);
    const auto found = source.for_target(**kernel, target, ImageKind::cubin);
    REQUIRE_MESSAGE(found, (found ? "" : found.error().to_line()));
    REQUIRE(*found);
    CHECK((*found)->cubin.record->fingerprint == fake_fingerprint("today"));
  }
  CHECK_FALSE(reached);
  CHECK(failed * sampling.stride > 100);
}

// The search for a compiler and the comparison of its build with the home's entry allocate memory.
TEST_CASE("memory that is exhausted anywhere in a question or a hit is an exception and no end" *
          doctest::test_suite("loop")) {
  const TempDir folder;
  const SmTarget target{9, 0, TargetKind::specific};
  REQUIRE(make_runtime(runtime_options(folder / "h"))->cubin(scale_spec(), target));
  const auto make = [&] { return make_runtime(runtime_options(folder / "h")); };
  const auto hits = fail_each_allocation(17, make, [&](const std::shared_ptr<Runtime>& runtime) {
    static_cast<void>(runtime->cubin(scale_spec(), target));
  });
  CHECK(hits * test::one_of_each(17).stride > 1000);
  const auto questions = fail_each_allocation(17, make, [&](const std::shared_ptr<Runtime>& runtime) {
    const auto kernel = runtime->resolve(scale_spec());
    if (kernel) static_cast<void>(runtime->explain(**kernel, {9, 0}));
  });
  CHECK(questions * test::one_of_each(17).stride > 1000);
}

TEST_CASE("memory that is exhausted anywhere in the search for a compiler is an exception and no end") {
  const TempDir folder;
  std::filesystem::create_directories(folder / "toolkit/lib64");
  for (const char* name : {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc-builtins.so.13.0", "other"})
    write_file(folder / "toolkit/lib64" / name, "no library");
  CompilerSearch search;
  search.toolkit_roots = {(folder / "toolkit").string()};
  REQUIRE_FALSE(find_compilers(search).empty());
  CHECK(find_compilers(search).front().builtins.ends_with("libnvrtc-builtins.so.13.0"));
  const auto failed = fail_each_allocation(
      1, [&] { return search; },
      [](const CompilerSearch& places) {
        static_cast<void>(find_compilers(places));
        static_cast<void>(places_searched(places));
        static_cast<void>(Compiler::open(places));
        static_cast<void>(find_linker(find_compilers(places).front(), places));
      });
  CHECK(failed > 100);
}

TEST_CASE(
    "a request that memory fails anywhere is answered right by the same Runtime when it is asked again" *
    doctest::test_suite("loop")) {
  const TempDir folder;
  const SmTarget target{9, 0, TargetKind::specific};
  const ShelfBuild held{.spec = complete_spec(3), .target = target};
  REQUIRE(open_home(folder / "h")->publish(held.make()));
  const auto make = [&] {
    RuntimeOptions options;
    options.stores = {open_home(folder / "h")};
    options.templates = row_catalog();
    // The build's flight is started nevertheless. It ends with the error.
    options.compiler.library = folder / "no compiler";
    return make_runtime(std::move(options));
  };
  for (const int factor : {3, 4}) {
    const KernelSpec spec = factor_spec(factor);
    bool reached = true;
    unsigned failed = 0;
    for (unsigned number = 1; reached; ++number) {
      CAPTURE(number);
      const auto runtime = make();
      const unsigned before = allocations();
      fail_allocation(number);
      try {
        static_cast<void>(runtime->cubin(spec, target));
        fail_allocation(0);
      } catch (const std::bad_alloc&) {
        fail_allocation(0);
        ++failed;
      }
      reached = allocations() - before >= number;
      const auto found = runtime->cubin(spec, target);
      if (factor == 3) {
        REQUIRE_MESSAGE(found, (found ? "" : found.error().to_line()));
        REQUIRE(*found);
        CHECK((*found)->cubin.record->digest.to_hex() == digest_of(held));
      } else {
        REQUIRE_FALSE(found);
        CHECK(found.error().code == ErrorCode::unavailable);
      }
    }
    CHECK(failed > 50);
  }
}

}  // namespace
}  // namespace cubinet
