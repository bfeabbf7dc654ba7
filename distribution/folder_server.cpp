// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/text.hpp>
#include <cubinet/distribution/folder_server.hpp>

#include <algorithm>
#include <mutex>

namespace cubinet {
namespace {

constexpr std::uint64_t kFolderChunkBytes = std::uint64_t{1} << 20;
constexpr std::string_view kChannelScheme = "sha256:";

class FolderServer final : public ContentServer {
 public:
  FolderServer(std::shared_ptr<FileSystem> files, std::filesystem::path folder)
      : files_(std::move(files)), folder_(std::move(folder)) {}

  std::string name() const override { return folder_.string(); }

 protected:
  Result<bool> do_has_blob(const BlobDescriptor& blob) override {
    CUBINET_TRY_ASSIGN(const auto status, files_->status(path_of(blob.digest)));
    return status && status->type == FileStatus::Type::regular && status->size == blob.size;
  }

  Result<void> do_read_blob(const BlobDescriptor& blob, BodySink& sink) override {
    CUBINET_TRY_ASSIGN(const std::uint64_t size, size_of(blob.digest));
    if (size != blob.size)
      return Error{ErrorCode::corruption,
                   "'" + path_of(blob.digest).string() + "' has " + std::to_string(size) +
                       " bytes, where it should have " + std::to_string(blob.size),
                   "write it again"};
    return read_into(blob.digest, 0, blob.size, sink);
  }

  Result<void> do_read_part(const BlobDescriptor& blob, const BytePart& part, BodySink& sink) override {
    return read_into(blob.digest, part.offset, part.count, sink);
  }

  Result<void> do_write_blob(const BlobDescriptor& blob, BodySource& source) override {
    const std::filesystem::path path = path_of(blob.digest);
    CUBINET_TRY(open_for_changes(path.parent_path()));
    const std::filesystem::path temporary = temporary_path_beside(path);
    auto written = write_temporary(temporary, source);
    if (written) written = files_->rename(temporary, path);
    if (!written) {
      (void)files_->remove(temporary).has_value();
      return written;
    }
    return files_->sync_directory(path.parent_path());
  }

  Result<void> do_read_manifest(const Sha256Digest& digest, BodySink& sink) override {
    CUBINET_TRY_ASSIGN(const Bytes bytes, files_->read(path_of(digest), kMaximumManifest));
    return sink.write(bytes);
  }

  Result<void> do_write_manifest(const Sha256Digest& digest, ByteView manifest) override {
    MemorySource source(manifest);
    return do_write_blob({digest, manifest.size()}, source);
  }

  Result<std::optional<Sha256Digest>> do_read_channel(const std::string& channel) override {
    const std::filesystem::path path = folder_ / "refs" / channel;
    const auto bytes = files_->read(path, kMaximumChannelText);
    if (!bytes && bytes.error().code == ErrorCode::not_found) return std::optional<Sha256Digest>();
    if (!bytes) return bytes.error();
    CUBINET_TRY_ASSIGN(const Sha256Digest digest,
                       parse_channel_text(as_text(*bytes), "'" + path.string() + "'"));
    return std::optional(digest);
  }

  Result<void> do_write_channel(const std::string& channel, const Sha256Digest& manifest) override {
    CUBINET_TRY(open_for_changes(folder_ / "refs"));
    return write_file_atomically(*files_, folder_ / "refs" / channel, as_bytes(channel_text(manifest)));
  }

 private:
  std::filesystem::path path_of(const Sha256Digest& digest) const {
    return folder_ / "blobs" / "sha256" / digest.to_hex();
  }

  // Creates a folder of the server. The server's own folder is opened once, and no change follows a
  // link below it: other users may write there too.
  Result<void> open_for_changes(const std::filesystem::path& folder) {
    const std::lock_guard lock(mutex_);
    if (!is_open_) {
      CUBINET_TRY(files_->create_directories(folder_, FileSystem::Mode::shared));
      CUBINET_TRY(files_->enclose(folder_));
      is_open_ = true;
    }
    return files_->create_directories(folder, FileSystem::Mode::shared);
  }

  Result<std::uint64_t> size_of(const Sha256Digest& digest) {
    CUBINET_TRY_ASSIGN(const auto status, files_->status(path_of(digest)));
    if (!status) return Error{ErrorCode::not_found, name() + " has no blob sha256:" + digest.to_hex()};
    return status->size;
  }

  Result<void> read_into(const Sha256Digest& digest, std::uint64_t offset, std::uint64_t count,
                         BodySink& sink) {
    while (count > 0) {
      CUBINET_TRY_ASSIGN(const Bytes chunk,
                         files_->read_range(path_of(digest), offset, std::min(count, kFolderChunkBytes)));
      if (chunk.empty())
        return Error{ErrorCode::corruption,
                     "'" + path_of(digest).string() + "' ends at " + std::to_string(offset)};
      CUBINET_TRY(sink.write(chunk));
      offset += chunk.size();
      count -= chunk.size();
    }
    return {};
  }

  Result<void> write_temporary(const std::filesystem::path& path, BodySource& source) {
    CUBINET_TRY_ASSIGN(const std::unique_ptr<WritableFile> file, files_->create(path));
    Bytes chunk(kFolderChunkBytes);
    for (std::uint64_t offset = 0; offset < source.size();) {
      CUBINET_TRY_ASSIGN(const std::size_t count, source.read(offset, chunk));
      if (count == 0)
        return Error{ErrorCode::io, "what is written to '" + path.string() + "' ends before its size"};
      CUBINET_TRY(file->write(ByteView(chunk).first(count)));
      offset += count;
    }
    CUBINET_TRY(file->sync());
    return file->close();
  }

  std::shared_ptr<FileSystem> files_;
  std::filesystem::path folder_;
  std::mutex mutex_;  // guards is_open_
  bool is_open_ = false;
};

}  // namespace

std::shared_ptr<ContentServer> open_folder_server(std::shared_ptr<FileSystem> files,
                                                  std::filesystem::path folder) {
  return std::make_shared<FolderServer>(std::move(files), std::move(folder));
}

std::string channel_text(const Sha256Digest& manifest) {
  return std::string(kChannelScheme) + manifest.to_hex() + "\n";
}

Result<Sha256Digest> parse_channel_text(std::string_view text, const std::string& where) {
  while (text.ends_with('\n') || text.ends_with('\r'))
    text.remove_suffix(1);
  if (text.starts_with(kChannelScheme)) {
    const auto digest = Sha256Digest::parse(text.substr(kChannelScheme.size()));
    if (digest) return *digest;
  }
  return Error{
      ErrorCode::corruption,
      where + " names no manifest: '" + printable(text, kQuotedBytes) + "' is not sha256: and 64 digits",
      "is it the right address? write the channel again"};
}

}  // namespace cubinet
