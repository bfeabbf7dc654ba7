// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/file_system.hpp>
#include <cubinet/cubin_registry/byte_source.hpp>

#include <filesystem>

namespace cubinet {
namespace {

class FileBytes final : public ByteSource {
 public:
  FileBytes(const std::string& path, std::shared_ptr<FileSystem> files, std::string place)
      : files_(files != nullptr ? std::move(files) : posix_file_system()),
        path_(path),
        place_(place.empty() ? std::filesystem::absolute(path_).native() : std::move(place)) {}

  Result<Bytes> read(std::uint64_t offset, std::uint64_t count) const override {
    return files_->read_range(path_, offset, count);
  }
  const std::string& place() const override { return place_; }

 private:
  const std::shared_ptr<FileSystem> files_;
  const std::filesystem::path path_;
  const std::string place_;
};

}  // namespace

std::shared_ptr<const ByteSource> file_source(const std::string& path, std::shared_ptr<FileSystem> files,
                                              std::string place) {
  return std::make_shared<const FileBytes>(path, std::move(files), std::move(place));
}

}  // namespace cubinet
