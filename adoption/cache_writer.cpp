// SPDX-License-Identifier: Apache-2.0
#include "cache_writer.hpp"

#include <cubinet/base/text.hpp>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

namespace cubinet {
namespace {

bool has_content(const CacheFolder& folder, const std::string& name, const Bytes& content) {
  const auto found = folder.read(name, content.size());
  return found && *found == content;
}

}  // namespace

Result<CacheWriter> CacheWriter::open(const CacheTool& tool, const std::string& folder) {
  std::error_code failure;
  const std::string path = std::filesystem::absolute(folder, failure).lexically_normal().string();
  if (failure) return io_error("cannot tell the working directory", failure.value());
  CUBINET_TRY_ASSIGN(CacheFolder cache, CacheFolder::make(path));
  remove_abandoned_stages(cache);
  const std::string below(tool.entries.empty() ? "." : tool.entries);
  CUBINET_TRY_ASSIGN(CacheFolder entries, cache.make_folder(below));
  return CacheWriter(tool, std::move(cache), std::move(entries),
                     path + (tool.entries.empty() ? "" : "/" + below));
}

CacheWriter::~CacheWriter() {
  remove_stage();
}

Result<void> CacheWriter::place(const std::string& entry, std::vector<CacheFile>& files) const {
  if (tool_->place == nullptr) return {};
  return tool_->place(files, path_ + "/" + entry);
}

bool CacheWriter::has(const std::string& entry, const std::vector<CacheFile>& files) const {
  const auto folder = entries_.folder(has_files() ? entry.substr(0, 2) : entry);
  if (!folder) return false;
  if (has_files()) return has_content(*folder, entry.substr(2), files.front().content);
  return std::all_of(files.begin(), files.end(),
                     [&](const CacheFile& file) { return has_content(*folder, file.name, file.content); });
}

Result<void> CacheWriter::make_stage() {
  if (stage_) return {};
  CUBINET_TRY_ASSIGN(CacheStage made, make_cache_stage(cache_));
  stage_.emplace(std::move(made));
  return {};
}

void CacheWriter::remove_stage() {
  if (stage_) cache_.remove(stage_->name);
  stage_.reset();
  staged_.clear();
}

Result<void> CacheWriter::stage(const std::string& entry, const std::vector<CacheFile>& files) {
  CUBINET_TRY(make_stage());
  const auto write = [&]() -> Result<void> {
    if (has_files()) return stage_->folder.write(entry, files.front().content);
    CUBINET_TRY_ASSIGN(const CacheFolder folder, stage_->folder.make_folder(entry));
    for (const CacheFile& file : files)
      CUBINET_TRY(folder.write(file.name, file.content));
    return {};
  };
  auto written = write();
  if (written) {
    staged_.push_back(entry);
  } else {
    stage_->folder.remove(entry);
  }
  return written;
}

std::vector<CacheWriter::Published> CacheWriter::publish() {
  std::vector<Published> published;
  if (!stage_) return published;
  const auto synced = stage_->folder.sync();
  for (const std::string& entry : staged_)
    published.push_back({entry, synced ? move(entry) : Result<Outcome>(synced.error())});
  remove_stage();
  return published;
}

Result<CacheWriter::Outcome> CacheWriter::move(const std::string& entry) const {
  bool is_moved = false;
  if (has_files()) {
    CUBINET_TRY_ASSIGN(const CacheFolder folder, entries_.make_folder(entry.substr(0, 2)));
    CUBINET_TRY_ASSIGN(is_moved, stage_->folder.move_file(entry, folder, entry.substr(2)));
  } else {
    CUBINET_TRY_ASSIGN(is_moved, stage_->folder.move_folder(entry, entries_, entry));
  }
  if (is_moved) return Outcome::written;
  // Another process may have written the same entry.
  CUBINET_TRY_ASSIGN(const std::vector<CacheFile> files, staged_files(entry));
  return has(entry, files) ? Outcome::present : Outcome::taken;
}

Result<std::vector<CacheFile>> CacheWriter::staged_files(const std::string& entry) const {
  constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();
  std::vector<CacheFile> files;
  const auto add = [&](const CacheFolder& folder, const std::string& name) -> Result<void> {
    CUBINET_TRY_ASSIGN(Bytes content, folder.read(name, kNoLimit));
    files.push_back({name, std::move(content)});
    return {};
  };
  if (has_files()) {
    CUBINET_TRY(add(stage_->folder, entry));
    return files;
  }
  CUBINET_TRY_ASSIGN(const CacheFolder folder, stage_->folder.folder(entry));
  CUBINET_TRY_ASSIGN(const auto names, folder.list());
  for (const std::string& name : names)
    CUBINET_TRY(add(folder, name));
  return files;
}

}  // namespace cubinet
