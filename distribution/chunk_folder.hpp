// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/distribution/content_server.hpp>

#include <filesystem>

namespace cubinet {

// A large blob in chunks of 8 MiB, each a file in the hidden folder `.<name>.<digest>.parts` beside
// `path`. A pull that was killed or lost its connection continues there. The assembled blob is
// hashed, which detects wrong chunks. Does not own `files`.
class ChunkFolder {
 public:
  ChunkFolder(FileSystem& files, const std::filesystem::path& path, const BlobDescriptor& blob);

  // Reads the blob into the sink, through the chunks if the folder belongs to this user alone.
  // Otherwise, for example if another user has created a link or a folder of that name, nothing is
  // stored. The chunks are removed unless the error is `unavailable`: the next pull then continues
  // with them.
  Result<void> read(ContentServer& server, BodySink& sink);

 private:
  Result<bool> assemble(ContentServer& server, BodySink& sink);
  Result<Bytes> chunk(ContentServer& server, std::uint64_t offset);
  bool make() const;
  void remove() const;

  FileSystem& files_;
  const BlobDescriptor blob_;
  const std::filesystem::path folder_;
  const std::string prefix_;  // prefix of the names of the chunks
};

}  // namespace cubinet
