// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/file_system.hpp>
#include <cubinet/transport/http_message.hpp>

#include <memory>

namespace cubinet {

// A temporary file that keep() renames. The destructor removes it otherwise. restart() must precede
// the first write.
class TemporaryFileSink final : public BodySink {
 public:
  TemporaryFileSink(FileSystem& files, std::filesystem::path path) : files_(files), path_(std::move(path)) {}
  ~TemporaryFileSink() override {
    file_.reset();
    // A kept file no longer has this name.
    (void)files_.remove(path_).has_value();
  }
  TemporaryFileSink(const TemporaryFileSink&) = delete;
  TemporaryFileSink& operator=(const TemporaryFileSink&) = delete;

  Result<void> restart() override {
    file_.reset();
    CUBINET_TRY(files_.remove(path_));
    CUBINET_TRY_ASSIGN(file_, files_.create(path_));
    return {};
  }
  Result<void> write(ByteView bytes) override { return file_->write(bytes); }
  // Makes the content durable. Nothing can be written afterwards.
  Result<void> close() {
    CUBINET_TRY(file_->sync());
    return file_->close();
  }
  const std::filesystem::path& path() const { return path_; }
  // Gives the file its name. REQUIRES: it is closed.
  Result<void> keep(const std::filesystem::path& name) {
    CUBINET_TRY(files_.rename(path_, name));
    return files_.sync_directory(name.has_parent_path() ? name.parent_path() : ".");
  }

 private:
  FileSystem& files_;
  std::filesystem::path path_;
  std::unique_ptr<WritableFile> file_;
};

}  // namespace cubinet
