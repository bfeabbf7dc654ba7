// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/file_system.hpp>
#include <cubinet/cubin_registry/byte_source.hpp>
#include <cubinet/transport/http_message.hpp>

#include <memory>
#include <optional>
#include <string>

namespace cubinet {

// What a blob is called: the digest of its bytes, and how many there are.
struct BlobDescriptor {
  Sha256Digest digest;
  std::uint64_t size = 0;

  friend bool operator==(const BlobDescriptor&, const BlobDescriptor&) = default;
};
BlobDescriptor describe_blob(ByteView bytes);

// A registry of container images takes no larger one.
inline constexpr std::uint64_t kMaximumManifest = std::uint64_t{4} << 20;

// A place where blobs lie by digest, manifests too, and channels, which are names for manifests. What it says
// of a digest is no evidence: every body that is read as a whole is hashed here, and nothing of another
// digest or size is a success. Thread-safe.
//
// Errors: not_found for what it does not have, corruption for other bytes than were named, unavailable and
// untrusted as HttpClient says them, io of a folder.
class ContentServer {
 public:
  virtual ~ContentServer() = default;

  // As messages name it.
  virtual std::string name() const = 0;

  Result<bool> has_blob(const BlobDescriptor& blob) { return do_has_blob(blob); }
  // Into a sink, which gets the bytes before they are known to be right: it keeps none unless this succeeds.
  Result<void> read_blob(const BlobDescriptor& blob, BodySink& sink);
  Result<Bytes> read_blob(const BlobDescriptor& blob);
  // Bytes within it. Where the part has no digest nothing is proven of them.
  Result<Bytes> read_blob_part(const BlobDescriptor& blob, const BytePart& part);
  // These are about to be read: a server whose answers are kept fetches those that lie side by side together.
  virtual Result<void> expect_parts(const BlobDescriptor& /*blob*/, const std::vector<BytePart>& /*parts*/) {
    return {};
  }
  // Nothing is sent where it is there already.
  Result<void> write_blob(const BlobDescriptor& blob, BodySource& source);

  Result<Bytes> read_manifest(const Sha256Digest& digest);
  // invalid_argument for one that is larger than kMaximumManifest. What it names has to be there before.
  Result<Sha256Digest> write_manifest(ByteView manifest);

  // The digest of the manifest that a channel names now; nullopt when there is no such channel.
  Result<std::optional<Sha256Digest>> read_channel(const std::string& channel);
  // The manifest has to be there before.
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

// A blob into a file that appears, or is replaced, when all of it is there and right.
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
  Bytes piece_;
  std::uint64_t piece_offset_ = 0;
};

}  // namespace cubinet
