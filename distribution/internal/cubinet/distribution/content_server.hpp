// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/file_system.hpp>
#include <cubinet/cubin_registry/byte_source.hpp>
#include <cubinet/transport/http_message.hpp>

#include <memory>
#include <optional>
#include <string>

namespace cubinet {

// The name of a blob: the digest of its bytes, and their number.
struct BlobDescriptor {
  Sha256Digest digest;
  std::uint64_t size = 0;

  friend bool operator==(const BlobDescriptor&, const BlobDescriptor&) = default;
};
BlobDescriptor describe_blob(ByteView bytes);

// The size limit of a manifest in registries of container images.
inline constexpr std::uint64_t kMaximumManifest = std::uint64_t{4} << 20;

// A server of blobs and manifests by digest, and of channels, which are names of manifests. Its
// answers are not trusted: every body that is read as a whole is hashed, and another digest or size
// is an error. Thread-safe.
//
// Errors: not_found for missing content, corruption for other bytes than requested, unavailable and
// untrusted from HttpClient, io of a folder.
class ContentServer {
 public:
  virtual ~ContentServer() = default;

  // Returns the name for messages.
  virtual std::string name() const = 0;

  Result<bool> has_blob(const BlobDescriptor& blob) { return do_has_blob(blob); }
  // Read a blob. The sink gets the bytes before they are verified and must keep them only if this
  // succeeds.
  Result<void> read_blob(const BlobDescriptor& blob, BodySink& sink);
  Result<Bytes> read_blob(const BlobDescriptor& blob);
  // Reads a range of bytes. Bytes of a part without a digest are not verified.
  Result<Bytes> read_blob_part(const BlobDescriptor& blob, const BytePart& part);
  // Announces parts that are about to be read. A caching server fetches adjacent ones together.
  virtual Result<void> expect_parts(const BlobDescriptor&, const std::vector<BytePart>&) { return {}; }
  // Writes a blob. Sends nothing if it exists already.
  Result<void> write_blob(const BlobDescriptor& blob, BodySource& source);

  Result<Bytes> read_manifest(const Sha256Digest& digest);
  // Writes a manifest. Everything that it names must exist. Returns an error (invalid_argument) if
  // it is larger than kMaximumManifest.
  Result<Sha256Digest> write_manifest(ByteView manifest);

  // Returns the digest of the manifest that a channel names now, or nullopt if there is no such
  // channel.
  Result<std::optional<Sha256Digest>> read_channel(const std::string& channel);
  // Lets a channel name a manifest, which must exist.
  Result<void> write_channel(const std::string& channel, const Sha256Digest& manifest);

 protected:
  virtual Result<bool> do_has_blob(const BlobDescriptor& blob) = 0;
  virtual Result<void> do_read_blob(const BlobDescriptor& blob, BodySink& sink) = 0;
  virtual Result<void> do_read_part(const BlobDescriptor& blob, const BytePart& part, BodySink& sink) = 0;
  virtual Result<void> do_write_blob(const BlobDescriptor& blob, BodySource& source) = 0;
  virtual Result<void> do_read_manifest(const Sha256Digest& digest, BodySink& sink) = 0;
  virtual Result<void> do_write_manifest(const Sha256Digest& digest, ByteView manifest) = 0;
  virtual Result<std::optional<Sha256Digest>> do_read_channel(const std::string& channel) = 0;
  virtual Result<void> do_write_channel(const std::string& channel, const Sha256Digest& manifest) = 0;
};

// Reads a blob into a file, which is created or replaced when the whole blob is verified.
Result<void> read_blob_to_file(ContentServer& server, const BlobDescriptor& blob, FileSystem& files,
                               const std::filesystem::path& path);

// A file, from `begin` on, as the body of a request.
class FileSource final : public BodySource {
 public:
  FileSource(std::shared_ptr<FileSystem> files, std::filesystem::path path, std::uint64_t size,
             std::uint64_t begin = 0)
      : files_(std::move(files)), path_(std::move(path)), size_(size), begin_(begin) {}
  std::uint64_t size() const override { return size_; }
  Result<std::size_t> read(std::uint64_t offset, std::span<std::byte> into) override;

 private:
  std::shared_ptr<FileSystem> files_;
  std::filesystem::path path_;
  std::uint64_t size_;
  std::uint64_t begin_;
  Bytes chunk_;
  std::uint64_t chunk_offset_ = 0;
};

}  // namespace cubinet
