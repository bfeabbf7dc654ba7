// SPDX-License-Identifier: Apache-2.0
#include "recorded_cache.hpp"

#include <algorithm>

namespace cubinet {
namespace {

using test::ok;
using test::TempDir;

std::vector<CacheFile> entry_of(std::string_view arch = "90a") {
  const TempDir temp;
  test::write_deepjit_cache(temp.path(), arch);
  return test::files_in(temp / "cache" / test::kDeepJit);
}

TEST_CASE("an entry of DeepJIT says its device and its nvcc") {
  auto files = entry_of();
  const auto before = files;
  const EntryFacts facts = ok(kDeepJitCache.read(test::kDeepJit, files));
  CHECK(files == before);
  CHECK(facts.target == SmTarget{9, 0, TargetKind::specific});
  CHECK(facts.toolchain == "CUDA 12.9");
  CHECK(facts.version.empty());
  CHECK_FALSE(facts.host_code);
}

TEST_CASE("an entry of DeepJIT that is not finished, or holds what DeepJIT does not make, is not taken") {
  for (const char* missing : {".committed", "meta.json", "kernel.cubin"}) {
    auto files = entry_of();
    std::erase_if(files, [&](const CacheFile& file) { return file.name == missing; });
    CHECK_FALSE(kDeepJitCache.read(test::kDeepJit, files));
  }
  auto files = entry_of();
  files.push_back(test::cache_file("kernel.so", "x"));
  CHECK(kDeepJitCache.read(test::kDeepJit, files).error().message.find("kernel.so") != std::string::npos);
  files = entry_of();
  files.front().content.push_back(std::byte{1});
  CHECK_FALSE(kDeepJitCache.read(test::kDeepJit, files));
}

TEST_CASE("an entry of DeepJIT whose machine code is for another device is not taken") {
  for (const char* arch : {"100f", "90", "", "; rm"}) {
    auto files = entry_of(arch);
    CHECK_FALSE(kDeepJitCache.read(test::kDeepJit, files));
  }
}

}  // namespace
}  // namespace cubinet
