// SPDX-License-Identifier: Apache-2.0
#include "recorded_cache.hpp"

namespace cubinet {
namespace {

using test::ok;

TEST_CASE("a recorded entry of cuda core is a cubin and nothing else") {
  auto files = test::files_in(test::recorded("cuda.core-1.2.2") / "entries" / "4f");
  REQUIRE(files.size() == 1);
  const auto before = files;
  const EntryFacts facts = ok(kCudaCoreCache.read(test::kCudaCoreHopper, files));
  CHECK(files == before);
  CHECK(facts.target == SmTarget{9, 0, TargetKind::specific});
  CHECK(facts.kernel == "scale");
  CHECK(facts.toolchain == "CUDA 13.0");
  CHECK(facts.version.empty());
  CHECK_FALSE(facts.host_code);
}

TEST_CASE("PTX, LTO IR and two files are no entry of cuda core that is taken") {
  std::vector<CacheFile> files = {test::cache_file("x", ".version 9.0\n.target sm_90\n")};
  CHECK_FALSE(kCudaCoreCache.read(test::kCudaCoreHopper, files));
  const std::string cubin(as_text(test::make_fake_cubin({})));
  files = {test::cache_file("x", cubin), test::cache_file("y", cubin)};
  CHECK_FALSE(kCudaCoreCache.read(test::kCudaCoreHopper, files));
}

}  // namespace
}  // namespace cubinet
