// SPDX-License-Identifier: Apache-2.0
#include "cache_stage.hpp"

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <string_view>
#include <unistd.h>
#include <utility>

namespace cubinet {
namespace {

constexpr std::string_view kStagePrefix = ".cubinet.";

// Returns the beginning of the names of stages whose locks this machine can judge. Empty: none.
//
// The boot ID names the running kernel, which all containers of a machine share. Locks of another
// kernel are not reliable: NFS keeps those of folders on each client.
std::string locked_prefix() {
  std::string boot_id;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot_id);
  if (boot_id.empty()) return {};
  return std::string(kStagePrefix) + boot_id + ".";
}

bool is_old(const CacheFolder& stage) {
  const auto limit = std::chrono::system_clock::now().time_since_epoch() - std::chrono::hours(1);
  const auto modified = stage.last_modified();
  return modified && *modified < std::chrono::nanoseconds(limit).count();
}

}  // namespace

Result<CacheStage> make_cache_stage(const CacheFolder& cache) {
  while (true) {
    // Processes of several containers, which share a cache, may have the same process id, so the
    // name is random.
    std::uint64_t digits = 0;
    if (::getentropy(&digits, sizeof(digits)) != 0) return io_error("cannot get random digits", errno);
    const std::string ending = std::to_string(digits) + ".tmp";
    std::string name = std::string(kStagePrefix) + ending;
    CUBINET_TRY_ASSIGN(std::optional<CacheFolder> made, cache.make_new_folder(name));
    if (!made) continue;
    // The folder gets the name by which its lock is judged only once it is locked.
    const std::string prefix = locked_prefix();
    if (!prefix.empty() && made->lock()) {
      CUBINET_TRY_ASSIGN(const bool is_moved, cache.move_folder(name, cache, prefix + ending));
      if (is_moved) name = prefix + ending;
    }
    return CacheStage{std::move(name), *std::move(made)};
  }
}

void remove_abandoned_stages(const CacheFolder& cache) {
  const auto names = cache.list();
  if (!names) return;
  const std::string prefix = locked_prefix();
  for (const std::string& name : *names) {
    if (!name.starts_with(kStagePrefix)) continue;
    const auto stage = cache.folder(name);
    if (!stage) continue;
    const bool is_abandoned = !prefix.empty() && name.starts_with(prefix) ? stage->lock() : is_old(*stage);
    if (is_abandoned) cache.remove(name);
  }
}

}  // namespace cubinet
