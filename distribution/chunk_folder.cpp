// SPDX-License-Identifier: Apache-2.0
#include "chunk_folder.hpp"

#include <cubinet/base/sha256_hasher.hpp>

#include <algorithm>

namespace cubinet {
namespace {

constexpr std::uint64_t kPullChunk = std::uint64_t{8} << 20;

}  // namespace

ChunkFolder::ChunkFolder(FileSystem& files, const std::filesystem::path& path, const BlobDescriptor& blob)
    : files_(files),
      blob_(blob),
      folder_(path.parent_path() /
              ("." + path.filename().string() + "." + blob.digest.to_hex().substr(0, 16) + ".parts")),
      prefix_(blob.digest.to_hex() + ".") {}

Result<void> ChunkFolder::read(ContentServer& server, BodySink& sink) {
  if (blob_.size <= kPullChunk || !make()) return server.read_blob(blob_, sink);
  auto assembled = assemble(server, sink);
  if (assembled || assembled.error().code != ErrorCode::unavailable) remove();
  if (!assembled) return std::move(assembled).error();
  if (*assembled) return {};
  // One of the chunks is wrong, and it is unknown which one. The whole blob is read and verified
  // mirror by mirror.
  CUBINET_TRY(sink.restart());
  return server.read_blob(blob_, sink);
}

// Writes the blob to the sink. Returns whether its digest is right.
Result<bool> ChunkFolder::assemble(ContentServer& server, BodySink& sink) {
  Sha256Hasher hasher;
  for (std::uint64_t offset = 0; offset < blob_.size; offset += kPullChunk) {
    CUBINET_TRY_ASSIGN(const Bytes chunk, this->chunk(server, offset));
    hasher.raw(chunk);
    CUBINET_TRY(sink.write(chunk));
  }
  return hasher.finish() == blob_.digest;
}

Result<Bytes> ChunkFolder::chunk(ContentServer& server, std::uint64_t offset) {
  const std::uint64_t count = std::min(kPullChunk, blob_.size - offset);
  const std::filesystem::path file = folder_ / (prefix_ + std::to_string(offset));
  auto there = files_.read(file, count);
  if (there && there->size() == count) return there;
  CUBINET_TRY_ASSIGN(Bytes fetched, server.read_blob_part(blob_, {offset, count}));
  CUBINET_TRY(write_file_atomically(files_, file, fetched));
  return fetched;
}

// Creates the folder and opens it for changes. Returns whether it belongs to this user alone.
bool ChunkFolder::make() const {
  if (!files_.create_directories(folder_, FileSystem::Mode::private_to_owner)) return false;
  const auto status = files_.status(folder_);
  return status && *status && (*status)->type == FileStatus::Type::directory &&
         why_not_trusted(**status) == nullptr && files_.enclose(folder_);
}

// Removes the chunks and the temporary files of killed pulls, and the folder if it is then empty.
void ChunkFolder::remove() const {
  const auto listing = files_.list(folder_);
  if (!listing) return;  // another pull of the same bundle finished first
  for (const std::string& name : listing->names) {
    if (name.starts_with(prefix_) || name.starts_with("." + prefix_))
      (void)files_.remove(folder_ / name).has_value();
  }
  std::error_code stays;
  std::filesystem::remove(folder_, stays);
}

}  // namespace cubinet
