// SPDX-License-Identifier: Apache-2.0
#include "kept_server.hpp"

#include <cubinet/cubin_registry/downloads.hpp>

namespace cubinet {

std::unique_ptr<BuildLock> KeptServer::lock(const Sha256Digest& what) const {
  return options_.home != nullptr ? options_.home->downloads().lock(what, options_.patience) : nullptr;
}

template <class Question>
auto KeptServer::ask(Question&& question) -> decltype(question()) {
  if (options_.local_only)
    return Error{ErrorCode::unavailable, name() + " is not asked: only what is here already is used",
                 "ask it once where that is allowed, or bring the bundle as a file"};
  if (!breaker_.may_ask())
    return Error{ErrorCode::unavailable, name() + " is passed over for a while, since it gave no answer",
                 "it is asked again by itself"};
  auto answer = question();
  breaker_.note(answer);
  return answer;
}

template <class Question>
Result<void> KeptServer::kept(const Sha256Digest& digest, std::uint64_t limit, BodySink& sink,
                              Question&& question) {
  std::unique_ptr<BuildLock> lock;
  if (options_.home != nullptr) {
    Downloads& downloads = options_.home->downloads();
    // Once more behind the lock: who had it before has kept what we are about to ask for.
    for (const bool locked : {false, true}) {
      if (locked && !options_.local_only) lock = this->lock(digest);
      CUBINET_TRY_ASSIGN(const auto bytes, downloads.find(digest, limit));
      if (bytes) return sink.write(*bytes);
    }
  }
  CUBINET_TRY_ASSIGN(const Bytes bytes, ask(question));
  fetched_ += bytes.size();
  if (options_.home != nullptr && options_.home->description().writable) {
    if (const auto stays = options_.home->downloads().keep(digest, bytes); !stays)
      log(options_.log, LogLevel::warning, "a download is not kept: " + stays.error().to_line());
  }
  return sink.write(bytes);
}

Result<bool> KeptServer::do_has_blob(const BlobDescriptor& blob) {
  return ask([&] { return server_->has_blob(blob); });
}

Result<void> KeptServer::do_read_blob(const BlobDescriptor& blob, BodySink& sink) {
  if (blob.size <= kMaximumRootBytes)
    return kept(blob.digest, blob.size, sink, [&] { return server_->read_blob(blob); });
  CUBINET_TRY(ask([&] { return server_->read_blob(blob, sink); }));
  fetched_ += blob.size;
  return {};
}

Result<void> KeptServer::do_read_part(const BlobDescriptor& blob, const BytePart& part, BodySink& sink) {
  const auto question = [&] { return server_->read_blob_part(blob, part); };
  if (part.shared && part.digest) return kept(*part.digest, part.count, sink, question);
  CUBINET_TRY_ASSIGN(const Bytes bytes, ask(question));
  fetched_ += bytes.size();
  return sink.write(bytes);
}

Result<void> KeptServer::do_read_manifest(const Sha256Digest& digest, BodySink& sink) {
  return kept(digest, kMaximumManifest, sink, [&] { return server_->read_manifest(digest); });
}

Result<std::optional<Sha256Digest>> KeptServer::do_read_channel(const std::string& channel) {
  return ask([&] { return server_->read_channel(channel); });
}

Result<void> KeptServer::do_write_blob(const BlobDescriptor& blob, BodySource& source) {
  return ask([&] { return server_->write_blob(blob, source); });
}

Result<void> KeptServer::do_write_manifest(const Sha256Digest&, ByteView manifest) {
  return ask([&]() -> Result<void> {
    CUBINET_TRY(server_->write_manifest(manifest));
    return {};
  });
}

Result<void> KeptServer::do_write_channel(const std::string& channel, const Sha256Digest& manifest) {
  return ask([&] { return server_->write_channel(channel, manifest); });
}

}  // namespace cubinet
