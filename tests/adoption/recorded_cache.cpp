// SPDX-License-Identifier: Apache-2.0
#include "recorded_cache.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>

namespace cubinet::test {

namespace fs = std::filesystem;

fs::path recorded(std::string_view cache) {
  return fs::path(CUBINET_RECORDED) / cache;
}

std::string read_file(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream content;
  content << stream.rdbuf();
  return content.str();
}

std::vector<CacheFile> files_in(const fs::path& folder) {
  std::vector<CacheFile> files;
  for (const auto& entry : fs::directory_iterator(folder))
    files.push_back(cache_file(entry.path().filename().string(), read_file(entry.path())));
  std::sort(files.begin(), files.end(),
            [](const CacheFile& a, const CacheFile& b) { return a.name < b.name; });
  return files;
}

CacheFile cache_file(std::string name, std::string_view content) {
  return {std::move(name), Bytes(as_bytes(content).begin(), as_bytes(content).end())};
}

void write_deepjit_cache(const fs::path& folder, std::string_view arch) {
  const fs::path entry = folder / "cache" / kDeepJit;
  write_file(entry / "kernel.cu", "extern \"C\" __global__ void scale() {}");
  write_file(entry / "kernel.cubin", as_text(make_fake_cubin({})));
  write_file(
      entry / "meta.json",
      R"({"command": "nvcc", "config": {"extra_signature": "cutlass-40000"}, "compiler_info": )"
      R"({"path": "/opt/cuda/bin/nvcc", "version": "Cuda compilation tools, release 12.9, V12.9.86"}, )"
      R"("compiler_options": {"arch": ")" +
          std::string(arch) + R"(", "nvcc_flags": ["-std=c++20"]}})");
  write_file(entry / ".committed", "");
}

std::shared_ptr<Home> open_home(const TempDir& folder) {
  HomeOptions options;
  options.path = (folder / "home").string();
  return ok(Home::open(options));
}

}  // namespace cubinet::test
