// SPDX-License-Identifier: Apache-2.0
#include "mirror_tree.hpp"

#include <cubinet/artifacts/artifact_folder.hpp>
#include <cubinet/artifacts/checksums.hpp>
#include <cubinet/base/file_lock.hpp>
#include <cubinet/base/text.hpp>

#include <algorithm>
#include <thread>

namespace cubinet {
namespace {

namespace fs = std::filesystem;

constexpr const char* kIndexName = "index.html";
// Not a valid name in a published folder, whose names do not begin with a dot.
constexpr const char* kMirrorLock = ".mirror.lock";
constexpr std::uint64_t kMaximumIndexPage = std::uint64_t{64} << 20;

// Returns whether the character needs no escape in a link and no entity in HTML.
bool is_plain_in_links(char c) {
  return is_word_character(c) || c == '.' || c == '-' || c == '+' || c == ',' || c == '=' || c == '@' ||
         c == '~';
}

}  // namespace

std::string_view why_not_mirrored(std::string_view name) {
  if (const std::string_view reason = why_not_within(name); !reason.empty()) return reason;
  if (!std::all_of(name.begin(), name.end(), [](char c) { return c == '/' || is_plain_in_links(c); }))
    return "has a name that links write in another way";
  if (name.front() == '.' || name.find("/.") != std::string_view::npos) return "is hidden";
  const std::string_view last = name.substr(name.rfind('/') + 1);
  if (last == kIndexName || last == kChecksumsName) return "has a name that mirrors have for their own files";
  return {};
}

Result<MirrorTree> MirrorTree::open(std::shared_ptr<FileSystem> files, fs::path folder,
                                    const Callback<bool()>& cancelled, const LogSink& log,
                                    std::chrono::milliseconds patience) {
  CUBINET_TRY(files->create_directories(folder, FileSystem::Mode::shared));
  CUBINET_TRY(files->enclose(folder));
  const auto end = std::chrono::steady_clock::now() + patience;
  for (bool told = false;;) {
    auto lock = files->lock(folder / kMirrorLock);
    if (!lock && knows_no_locks(lock.error())) {
      cubinet::log(log, LogLevel::warning,
                   "'" + folder.string() + "' has no locks: others may fetch the same files meanwhile");
      return MirrorTree(std::move(files), std::move(folder), nullptr);
    }
    if (!lock) return lock.error();
    if (*lock) return MirrorTree(std::move(files), std::move(folder), *std::move(lock));
    const std::string reason = "another process is writing to '" + folder.string() + "'";
    if (!told) cubinet::log(log, LogLevel::warning, reason + ": waiting for it");
    told = true;
    if (cancelled && cancelled())
      return Error{ErrorCode::unavailable, reason + ", and its end was not waited for"};
    if (std::chrono::steady_clock::now() >= end)
      return Error{ErrorCode::busy,
                   reason + " and has not ended within " +
                       plural(static_cast<std::uint64_t>(patience.count() / 1000), "second"),
                   "run the same command again: it continues"};
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

Result<void> MirrorTree::make_folder(const std::string& name) const {
  fs::path path = folder_;
  for (const fs::path& part : fs::path(name)) {
    if (part.empty()) continue;
    path /= part;
    CUBINET_TRY_ASSIGN(auto status, files_->status(path));
    if (!status) {
      CUBINET_TRY(files_->create_directories(path, FileSystem::Mode::shared));
      CUBINET_TRY(files_->sync_directory(path.parent_path()));
      CUBINET_TRY_ASSIGN(status, files_->status(path));
    }
    if (!status || status->type != FileStatus::Type::directory)
      return Error{ErrorCode::untrusted,
                   "'" + path.string() + "' is a link or a file where a mirror has a folder",
                   "remove it, or name another folder for the mirror"};
  }
  if (!lock_) return {};  // another process may be about to rename it
  CUBINET_TRY_ASSIGN(const Listing listing, files_->list(path));
  for (const std::string& left : listing.names) {
    if (is_temporary_path(left)) CUBINET_TRY(files_->remove(path / left));
  }
  return {};
}

Result<std::optional<Bytes>> MirrorTree::read(const std::string& name, std::uint64_t limit) const {
  CUBINET_TRY_ASSIGN(const auto status, files_->status(folder_ / name));
  if (!status || status->type != FileStatus::Type::regular || status->size > limit)
    return std::optional<Bytes>();
  CUBINET_TRY_ASSIGN(Bytes bytes, files_->read(folder_ / name, limit));
  return std::optional(std::move(bytes));
}

Result<void> MirrorTree::write(const std::string& name, ByteView content) const {
  return write_file_atomically(*files_, folder_ / name, content);
}

Result<void> MirrorTree::remove(const std::string& name) const {
  CUBINET_TRY(files_->remove(folder_ / name));
  return {};
}

Result<void> MirrorTree::write_index(const std::string& folder, const std::vector<std::string>& names) const {
  const std::string path = folder.empty() ? kIndexName : folder + "/" + kIndexName;
  std::string page =
      "<!DOCTYPE html>\n<html><head><title>Index</title></head><body>\n<a href=\"../\">../</a><br>\n";
  for (const std::string& name : names)
    page += "<a href=\"" + name + "\">" + name + "</a><br>\n";
  page += "</body></html>\n";
  CUBINET_TRY_ASSIGN(const auto there, read(path, kMaximumIndexPage));
  if (there && as_text(*there) == page) return {};
  return write(path, as_bytes(page));
}

}  // namespace cubinet
