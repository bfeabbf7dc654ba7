// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/file_system.hpp>

#include <filesystem>
#include <memory>

namespace cubinet::test {

// The operating system's files, for tests that watch or change a call or two of them.
class ForwardingFiles : public FileSystem {
 public:
  using Path = std::filesystem::path;

  Result<Bytes> read(const Path& path, std::uint64_t limit) override { return files_->read(path, limit); }
  Result<OwnFile> read_own(const Path& path, std::uint64_t limit) override {
    return files_->read_own(path, limit);
  }
  Result<Bytes> read_range(const Path& path, std::uint64_t offset, std::uint64_t count) override {
    return files_->read_range(path, offset, count);
  }
  Result<std::unique_ptr<WritableFile>> create(const Path& path) override { return files_->create(path); }
  Result<void> link(const Path& from, const Path& to) override { return files_->link(from, to); }
  Result<void> rename(const Path& from, const Path& to) override { return files_->rename(from, to); }
  void guard(const Path& folder) override { files_->guard(folder); }
  Result<void> enclose(const Path& folder) override { return files_->enclose(folder); }
  Result<void> append(const Path& path, ByteView bytes) override { return files_->append(path, bytes); }
  Result<void> sync_directory(const Path& path) override { return files_->sync_directory(path); }
  Result<bool> remove(const Path& path) override { return files_->remove(path); }
  Result<void> remove_tree(const Path& path) override { return files_->remove_tree(path); }
  Result<void> create_directories(const Path& path, Mode mode) override {
    return files_->create_directories(path, mode);
  }
  Result<std::optional<FileStatus>> status(const Path& path) override { return files_->status(path); }
  // Kept open by tests that ask for it: what an open folder is asked for passes by their watch.
  std::unique_ptr<OpenFolder> open_folder(const Path& path) override {
    return keeps_open ? files_->open_folder(path) : nullptr;
  }
  bool keeps_open = false;
  Result<Listing> list(const Path& path) override { return files_->list(path); }
  Result<std::unique_ptr<FileLock>> lock(const Path& path, Sharing sharing) override {
    return files_->lock(path, sharing);
  }
  Result<void> check_writable(const Path& path) override { return files_->check_writable(path); }
  FileSystemKind kind(const Path& path) override { return files_->kind(path); }

 private:
  std::shared_ptr<FileSystem> files_ = posix_file_system();
};

}  // namespace cubinet::test
