// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/stopwatch.hpp>
#include <cubinet/cubin_registry/downloads.hpp>
#include <cubinet/distribution/kept_server.hpp>

#include <algorithm>

namespace cubinet {
namespace {

// A single request for adjacent or nearly adjacent parts.
struct PartRun {
  std::uint64_t offset = 0;
  std::uint64_t count = 0;
  std::vector<BytePart> parts;
};
constexpr std::uint64_t kMostOfRun = std::uint64_t{1} << 20;
// The largest gap between parts of one request. It costs less than another request's headers and
// round trip.
constexpr std::uint64_t kLargestGap = 2048;

std::vector<PartRun> runs_of(std::vector<BytePart> parts) {
  std::sort(parts.begin(), parts.end(),
            [](const BytePart& a, const BytePart& b) { return a.offset < b.offset; });
  std::vector<PartRun> runs;
  for (const BytePart& part : parts) {
    const std::uint64_t end = part.offset + part.count;
    const bool follows = !runs.empty() && part.offset >= runs.back().offset + runs.back().count &&
                         part.offset - (runs.back().offset + runs.back().count) <= kLargestGap &&
                         end - runs.back().offset <= kMostOfRun;
    if (!follows) runs.push_back({part.offset, 0, {}});
    runs.back().count = end - runs.back().offset;
    runs.back().parts.push_back(part);
  }
  return runs;
}

}  // namespace

bool is_in_vain(double seconds, std::chrono::milliseconds patience) {
  return patience.count() > 0 && seconds * 2000 >= static_cast<double>(patience.count());
}

std::unique_ptr<BuildLock> KeptServer::lock(const Sha256Digest& what) const {
  // Nothing is fetched, so no lock is needed.
  if (options_.home == nullptr || options_.local_only || breaker_.is_resting()) return nullptr;
  return options_.home->downloads().lock(what, options_.patience);
}

void KeptServer::waited_in_vain(double seconds) {
  if (is_in_vain(seconds, options_.patience)) breaker_.note(false);
}

template <class Question>
auto KeptServer::ask(Question&& question) -> decltype(question()) {
  if (options_.local_only)
    return Error{ErrorCode::unavailable, name() + " is not asked: only what is here already is used",
                 "ask it once where that is allowed, or bring the bundle as a file"};
  return breaker_.ask(name(), question);
}

template <class Question>
Result<void> KeptServer::kept(const Sha256Digest& digest, std::uint64_t limit, BodySink& sink,
                              Question&& question) {
  std::unique_ptr<BuildLock> lock;
  if (options_.home != nullptr) {
    Downloads& downloads = options_.home->downloads();
    // Look again after locking: the previous holder may have stored the content.
    for (const bool locked : {false, true}) {
      const Stopwatch waited;
      if (locked) lock = this->lock(digest);
      const double seconds = waited.seconds();
      CUBINET_TRY_ASSIGN(const auto bytes, downloads.find(digest, limit));
      if (bytes) return sink.write(*bytes);
      waited_in_vain(seconds);
    }
  }
  CUBINET_TRY_ASSIGN(const Bytes bytes, ask(question));
  fetched_ += bytes.size();
  keep(digest, bytes);
  return sink.write(bytes);
}

void KeptServer::keep(const Sha256Digest& digest, ByteView bytes) const {
  if (options_.home == nullptr || !options_.home->description().writable) return;
  if (const auto stays = options_.home->downloads().keep(digest, bytes); !stays)
    log(options_.log, LogLevel::warning, "a download is not kept: " + stays.error().to_line());
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
  if (part.digest && options_.home != nullptr) {
    CUBINET_TRY_ASSIGN(const auto expected, options_.home->downloads().find(*part.digest, part.count));
    if (expected) return sink.write(*expected);
  }
  CUBINET_TRY_ASSIGN(const Bytes bytes, ask(question));
  fetched_ += bytes.size();
  return sink.write(bytes);
}

// Wrong parts are not repaired here. Their reader requests them separately, and a mirror may have
// them.
Result<void> KeptServer::expect_parts(const BlobDescriptor& blob, const std::vector<BytePart>& parts) {
  if (options_.home == nullptr || !options_.home->description().writable || options_.local_only) return {};
  const auto missing = [&]() -> Result<std::vector<BytePart>> {
    std::vector<BytePart> found;
    for (const BytePart& part : parts) {
      if (!part.digest) continue;
      CUBINET_TRY_ASSIGN(const bool there, options_.home->downloads().has(*part.digest, part.count));
      if (!there) found.push_back(part);
    }
    return found;
  };
  CUBINET_TRY_ASSIGN(std::vector<BytePart> wanted, missing());
  if (wanted.empty()) return {};
  const auto lock = this->lock(blob.digest);
  CUBINET_TRY_ASSIGN(wanted, missing());
  for (const PartRun& run : runs_of(std::move(wanted))) {
    CUBINET_TRY_ASSIGN(const Bytes bytes, ask([&] {
                         return server_->read_blob_part(blob, {run.offset, run.count});
                       }));
    fetched_ += bytes.size();
    for (const BytePart& part : run.parts) {
      const ByteView its = ByteView(bytes).subspan(static_cast<std::size_t>(part.offset - run.offset),
                                                   static_cast<std::size_t>(part.count));
      if (sha256(its) == *part.digest) keep(*part.digest, its);
    }
  }
  return {};
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
