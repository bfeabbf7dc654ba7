// SPDX-License-Identifier: Apache-2.0
#include "recordings.hpp"

#include <cubinet/base/absolute_path.hpp>
#include <cubinet/base/file_system.hpp>
#include <cubinet/base/text.hpp>
#include <cubinet/session/workload.hpp>
#include <cubinet/session/workload_json.hpp>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>
#include <thread>

namespace cubinet {
namespace {

constexpr std::chrono::seconds kLockLimit{5};

Result<std::unique_ptr<FileLock>> lock_workload(FileSystem& files, const std::string& workload) {
  const auto end = std::chrono::steady_clock::now() + kLockLimit;
  for (;;) {
    CUBINET_TRY_ASSIGN(auto lock, files.lock(workload + ".lock"));
    if (lock != nullptr) return lock;
    if (std::chrono::steady_clock::now() >= end)
      return Error{ErrorCode::busy, "another process merges into '" + printable(workload) + "'",
                   "record into another file"};
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

struct Recorded {
  Workload all;                    // the union
  std::vector<std::string> whole;  // the names of the files that have nothing more to recover
};

// Returns whether nothing but a line at the end, which a killed process did not finish, keeps the
// recording from being read whole. Nothing can be recovered from such a line.
bool ends_torn(FileSystem& files, const std::string& path) {
  const auto bytes = files.read_range(path, 0, kMaximumWorkloadBytes + 1);
  if (!bytes || bytes->size() > kMaximumWorkloadBytes) return false;
  const std::string_view text = as_text(*bytes);
  const std::size_t end = text.rfind('\n');
  if (end == std::string_view::npos) return first_line_text(0).starts_with(text);
  if (end + 1 == text.size()) return false;
  const auto finished = Workload::parse(text.substr(0, end + 1));
  return finished && finished->rejected().empty();
}

// Reads the recordings in a folder.
Result<Recorded> read_recordings(FileSystem& files, const std::string& folder, const LogSink& sink) {
  CUBINET_TRY_ASSIGN(const Listing listing, files.list(folder));
  Recorded read;
  for (const std::string& name : listing.names) {
    const std::string path = folder + "/" + name;
    const auto recorded = Workload::read(path);
    const bool is_whole = recorded && recorded->rejected().empty();
    if (is_whole || ends_torn(files, path)) read.whole.push_back(name);
    if (!recorded) {
      log(sink, LogLevel::warning, "a recording is left out: " + recorded.error().to_line());
      continue;
    }
    for (const Error& rejected : recorded->rejected())
      log(sink, LogLevel::info, rejected.to_line());
    for (const WorkloadEntry& entry : recorded->entries())
      read.all.add(entry);
    for (const auto& [id, counters] : recorded->recordings())
      read.all.add(id, counters);
  }
  return read;
}

// Returns the workload in the file, if it exists and is intact.
Result<std::optional<Workload>> read_target(const std::string& workload) {
  auto read = Workload::read(workload);
  if (!read && read.error().code == ErrorCode::not_found) return std::optional<Workload>();
  if (!read) return read.error();
  if (!read->rejected().empty()) return read->rejected().front();
  return std::optional<Workload>(*std::move(read));
}

}  // namespace

Result<Recordings> Recordings::open(const std::string& workload) {
  CUBINET_TRY_ASSIGN(const std::filesystem::path path, absolute_path(workload));
  std::string folder = path.string() + ".XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr)
    return io_error("cannot make a folder beside '" + printable(path.string()) + "'", errno,
                    "name a file in a folder that exists and can be written");
  return Recordings(path.string(), std::move(folder));
}

Result<void> Recordings::merge(const LogSink& sink) const {
  CUBINET_TRY(merge_whole(sink));
  return {};
}

Result<std::vector<std::string>> Recordings::merge_whole(const LogSink& sink) const {
  const auto files = posix_file_system();
  CUBINET_TRY_ASSIGN(Recorded recorded, read_recordings(*files, folder_, sink));
  CUBINET_TRY_ASSIGN(const auto lock, lock_workload(*files, workload_));
  CUBINET_TRY_ASSIGN(std::optional<Workload> target, read_target(workload_));
  Workload merged = target ? *target : Workload();
  merged.merge(recorded.all);
  if (!target || merged.to_text() != target->to_text()) CUBINET_TRY(merged.write(workload_));
  CUBINET_TRY(files->remove(workload_ + ".lock"));
  return std::move(recorded.whole);
}

Result<void> Recordings::close(const LogSink& sink) const {
  CUBINET_TRY_ASSIGN(const std::vector<std::string> whole, merge_whole(sink));
  const auto files = posix_file_system();
  for (const std::string& name : whole)
    CUBINET_TRY(files->remove(folder_ + "/" + name));
  CUBINET_TRY_ASSIGN(const Listing left, files->list(folder_));
  if (left.names.empty()) return files->remove_tree(folder_);
  log(sink, LogLevel::warning,
      "recordings that are not merged whole are kept in '" + printable(folder_) + "'");
  return {};
}

}  // namespace cubinet
