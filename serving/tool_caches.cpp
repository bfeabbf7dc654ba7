// SPDX-License-Identifier: Apache-2.0
#include <cubinet/serving/tool_caches.hpp>

#include <algorithm>

namespace cubinet {
namespace {

// Adds the default folder of a tool, if its variables name one.
class FolderSearch {
 public:
  FolderSearch(const EnvironmentVariables& environment, std::vector<ToolCache>& caches)
      : environment_(environment), caches_(caches) {}

  void add_triton(std::size_t devices) {
    if (const auto folder = environment_.find("TRITON_CACHE_DIR")) return add("triton", *folder);
    if (const auto inductor = environment_.find("TORCHINDUCTOR_CACHE_DIR")) {
      for (std::size_t device = 0; device < std::max<std::size_t>(devices, 1); ++device)
        add("triton", *inductor + "/triton/" + std::to_string(device));
    }
    if (const auto home = environment_.find_first({"TRITON_HOME", "HOME"}))
      add("triton", *home + "/.triton/cache");
  }

  void add_deepjit() {
    const auto folders = environment_.find("DJ_JIT_CACHE_DIR");
    if (folders && folders->front() != ':') add("deepjit", folders->substr(0, folders->find(':')));
  }

  void add_cuda_core() {
    const auto cache = environment_.find("XDG_CACHE_HOME");
    const auto home = environment_.find("HOME");
    if (cache && cache->front() == '/') return add("cuda.core", *cache + kCudaCore);
    if (home) add("cuda.core", *home + "/.cache" + kCudaCore);
  }

 private:
  static constexpr const char* kCudaCore = "/cuda-python/program-cache";
  void add(const char* tool, const std::string& folder) { caches_.push_back({tool, folder}); }

  const EnvironmentVariables& environment_;
  std::vector<ToolCache>& caches_;
};

}  // namespace

std::vector<ToolCache> tool_caches(const EnvironmentVariables& environment,
                                   const std::vector<ToolCache>& named, std::size_t devices) {
  std::vector<ToolCache> caches = named;
  const auto is_named = [&](const char* tool) {
    return std::any_of(named.begin(), named.end(),
                       [&](const ToolCache& cache) { return cache.tool == tool; });
  };
  FolderSearch search(environment, caches);
  if (!is_named("triton")) search.add_triton(devices);
  if (!is_named("deepjit")) search.add_deepjit();
  if (!is_named("cuda.core")) search.add_cuda_core();
  return caches;
}

}  // namespace cubinet
