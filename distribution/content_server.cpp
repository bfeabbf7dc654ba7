// SPDX-License-Identifier: Apache-2.0
#include "temporary_file_sink.hpp"

#include <cubinet/base/sha256_hasher.hpp>
#include <cubinet/distribution/content_server.hpp>
#include <cubinet/distribution/server_reference.hpp>

#include <algorithm>

namespace cubinet {
namespace {

constexpr std::uint64_t kChunkBytes = std::uint64_t{1} << 20;

// A sink that hashes its input.
class HashingSink final : public BodySink {
 public:
  explicit HashingSink(BodySink& next) : next_(next) {}
  Result<void> restart() override {
    hasher_ = Sha256Hasher();
    size_ = 0;
    return next_.restart();
  }
  Result<void> write(ByteView bytes) override {
    hasher_.raw(bytes);
    size_ += bytes.size();
    return next_.write(bytes);
  }
  // Compares the digest. The hasher cannot be used afterwards.
  Result<void> check(const Sha256Digest& digest, const std::string& server) {
    const Sha256Digest found = hasher_.finish();
    if (found == digest) return {};
    return Error{ErrorCode::corruption,
                 server + " answers for sha256:" + digest.to_hex() + " with " + std::to_string(size_) +
                     " bytes that have the digest " + found.to_hex(),
                 "take it from another mirror, or upload it again"};
  }
  std::uint64_t size() const { return size_; }

 private:
  BodySink& next_;
  Sha256Hasher hasher_;
  std::uint64_t size_ = 0;
};

}  // namespace

BlobDescriptor describe_blob(ByteView bytes) {
  return {sha256(bytes), bytes.size()};
}

Result<void> ContentServer::read_blob(const BlobDescriptor& blob, BodySink& sink) {
  HashingSink hashing(sink);
  CUBINET_TRY(do_read_blob(blob, hashing));
  return hashing.check(blob.digest, name());
}

Result<Bytes> ContentServer::read_blob(const BlobDescriptor& blob) {
  MemorySink sink;
  CUBINET_TRY(read_blob(blob, sink));
  return std::move(sink.bytes);
}

Result<Bytes> ContentServer::read_blob_part(const BlobDescriptor& blob, const BytePart& part) {
  if (part.count == 0) return Bytes();
  if (part.offset > blob.size || part.count > blob.size - part.offset)
    return Error{ErrorCode::invalid_argument,
                 "bytes behind the end of sha256:" + blob.digest.to_hex() + " are asked for"};
  MemorySink sink;
  CUBINET_TRY(do_read_part(blob, part, sink));
  if (sink.bytes.size() != part.count)
    return Error{ErrorCode::corruption, name() + " answers with " + std::to_string(sink.bytes.size()) +
                                            " bytes for " + std::to_string(part.count)};
  if (part.digest && sha256(sink.bytes) != *part.digest)
    return Error{ErrorCode::corruption,
                 name() + " answers with other bytes for a part of sha256:" + blob.digest.to_hex(),
                 "take it from another mirror, or upload it again"};
  return std::move(sink.bytes);
}

Result<void> ContentServer::write_blob(const BlobDescriptor& blob, BodySource& source) {
  CUBINET_TRY_ASSIGN(const bool there, do_has_blob(blob));
  if (there) return {};
  return do_write_blob(blob, source);
}

Result<Bytes> ContentServer::read_manifest(const Sha256Digest& digest) {
  MemorySink sink;
  HashingSink hashing(sink);
  CUBINET_TRY(do_read_manifest(digest, hashing));
  CUBINET_TRY(hashing.check(digest, name()));
  return std::move(sink.bytes);
}

Result<Sha256Digest> ContentServer::write_manifest(ByteView manifest) {
  if (manifest.size() > kMaximumManifest)
    return Error{ErrorCode::invalid_argument, "a manifest of " + std::to_string(manifest.size()) +
                                                  " bytes is larger than servers take: 4 MiB"};
  const Sha256Digest digest = sha256(manifest);
  CUBINET_TRY(do_write_manifest(digest, manifest));
  return digest;
}

Result<std::optional<Sha256Digest>> ContentServer::read_channel(const std::string& channel) {
  CUBINET_TRY(check_channel(channel));
  return do_read_channel(channel);
}

Result<void> ContentServer::write_channel(const std::string& channel, const Sha256Digest& manifest) {
  CUBINET_TRY(check_channel(channel));
  return do_write_channel(channel, manifest);
}

Result<void> read_blob_to_file(ContentServer& server, const BlobDescriptor& blob, FileSystem& files,
                               const std::filesystem::path& path) {
  TemporaryFileSink sink(files, temporary_path_beside(path));
  CUBINET_TRY(sink.restart());
  CUBINET_TRY(server.read_blob(blob, sink));
  CUBINET_TRY(sink.close());
  return sink.keep(path);
}

Result<std::size_t> FileSource::read(std::uint64_t offset, std::span<std::byte> into) {
  if (offset >= size_) return std::size_t{0};
  if (offset < chunk_offset_ || offset >= chunk_offset_ + chunk_.size()) {
    CUBINET_TRY_ASSIGN(chunk_,
                       files_->read_range(path_, begin_ + offset, std::min(kChunkBytes, size_ - offset)));
    chunk_offset_ = offset;
    if (chunk_.empty())
      return Error{ErrorCode::io, "'" + path_.string() + "' became shorter while it was sent"};
  }
  const ByteView rest = ByteView(chunk_).subspan(static_cast<std::size_t>(offset - chunk_offset_));
  const std::size_t count = std::min(rest.size(), into.size());
  std::copy_n(rest.begin(), count, into.begin());
  return count;
}

}  // namespace cubinet
