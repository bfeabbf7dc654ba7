// SPDX-License-Identifier: Apache-2.0
#include "left_overs.hpp"

#include <chrono>

namespace cubinet {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kLeftOverAfterNs = std::int64_t{3'600} * 1'000'000'000;

std::int64_t now_ns() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

}  // namespace

bool is_left_over(const FileStatus& status) {
  return now_ns() - status.modified_ns > kLeftOverAfterNs;
}

bool is_temporary(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.starts_with('.') && name.ends_with(".tmp");
}

Result<bool> is_stray(const FileStore& store, const fs::path& path) {
  CUBINET_TRY_ASSIGN(const auto status, store.files().status(path));
  return status && (!is_temporary(path) || is_left_over(*status));
}

Result<void> FileSweep::remove(const fs::path& path, std::uint64_t bytes) {
  if (!only_counts()) {
    CUBINET_TRY_ASSIGN(const bool removed, store_.files().remove(path));
    if (!removed) return {};
  }
  ++report.files;
  report.bytes += bytes;
  return {};
}

Result<void> remove_left_overs(FileSweep& sweep, const fs::path& folder) {
  const FileStore& store = sweep.store();
  CUBINET_TRY_ASSIGN(const auto paths, store.files_below(folder));
  for (const fs::path& path : paths) {
    if (!is_temporary(path)) continue;
    CUBINET_TRY_ASSIGN(const auto status, store.files().status(path));
    if (!status || !is_left_over(*status)) continue;
    CUBINET_TRY(sweep.remove(path, status->size));
  }
  return {};
}

}  // namespace cubinet
