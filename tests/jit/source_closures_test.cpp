// SPDX-License-Identifier: Apache-2.0
#include "source_closures.hpp"

#include "jit/test_templates.hpp"
#include "support/temp_dir.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>

using namespace cubinet;
namespace fs = std::filesystem;

namespace {

// A compiler that is said to have headers within it, and cannot be loaded.
struct Broken {
  test::TempDir folder;
  int loads = 0;
  CompilerSearch search;

  SourceClosures closures() {
    search.bundled_headers = (folder / "home/headers").string();
    const CompilerCandidate compiler{CompilerCandidate::Source::wheel, folder / "lib/libnvrtc.so.13",
                                     folder / "lib/libnvrtc-builtins.so.13.5"};
    return {compiler, "a compiler", search, [this]() -> Result<std::shared_ptr<const NvrtcApi>> {
              ++loads;
              return Error{ErrorCode::unavailable, "it is broken"};
            }};
  }
};

PreparedRequest prepared(const std::string& source, const std::string& folder = {}, KernelSpec spec = {}) {
  const auto parsed = KernelTemplate::parse(source, "test.cu", folder);
  REQUIRE_MESSAGE(parsed.has_value(), parsed.error().message);
  spec.name = (*parsed)->name();
  const auto resolved = (*parsed)->resolve(spec);
  REQUIRE(resolved);
  return {*parsed, *resolved, {}};
}

}  // namespace

TEST_CASE("a compiler that cannot hand its headers out is asked once, for a source that lacks one") {
  Broken broken;
  SourceClosures closures = broken.closures();
  REQUIRE(closures.get(prepared(test::scale_source(test::kScaleBody))));
  CHECK(broken.loads == 0);
  const PreparedRequest lacks = prepared(test::scale_source("#include <none.h>\n"));
  for (int time = 0; time < 2; ++time) {
    const auto taken = closures.take(lacks);
    REQUIRE(taken);
    CHECK(taken->front()->missing.size() == 1);
    CHECK(taken->front()->without_bundled == "it is broken");
    CHECK(broken.loads == 1);
  }
}

TEST_CASE("a header that a parameter names is found, and one that nothing uses is refused, at each look") {
  Broken broken;
  SourceClosures closures = broken.closures();
  std::ofstream(broken.folder / "own.h") << "// own\n";
  const std::string source = R"(/* cubinet-template {"name": "t", "interface": 1, "parameters": [
      {"name": "h", "type": "string", "macro": "HEADER", "default": "own.h"}],
      "kernels": [{"name": "k", "threads": 1}]} */
#include <cubinet/parameters.cuh>
)";
  const PreparedRequest named = prepared(source + "#include HEADER\n", broken.folder.path().string());
  const auto found = closures.get(named);
  REQUIRE_MESSAGE(found.has_value(), found.error().message);
  const auto taken = closures.take(named);
  REQUIRE(taken);
  const auto& headers = taken->front()->headers;
  CHECK(
      std::any_of(headers.begin(), headers.end(), [](const auto& each) { return each.text == "// own\n"; }));
  CHECK(found->front()->digest == taken->front()->digest);
  CHECK_FALSE(closures.get(prepared(source)));
  CHECK_FALSE(closures.take(prepared(source)));
}
