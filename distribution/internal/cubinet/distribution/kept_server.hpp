// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/log.hpp>
#include <cubinet/cubin_registry/home.hpp>
#include <cubinet/distribution/circuit_breaker.hpp>
#include <cubinet/distribution/content_server.hpp>

#include <atomic>

namespace cubinet {

struct KeptServerOptions {
  std::shared_ptr<Home> home = nullptr;  // nullptr: nothing is stored
  // If true, only stored content is used and the server is not contacted.
  bool local_only = false;
  // The longest wait for another process's download.
  std::chrono::milliseconds patience = std::chrono::seconds(20);
  // how long a server that gave no answer is skipped
  std::chrono::milliseconds rest = std::chrono::minutes(1);
  LogSink log = {};
};

// Returns whether a wait for another process was so long that the server gives it no answer.
bool is_in_vain(double seconds, std::chrono::milliseconds patience);

// A server with a home as its cache. Manifests, small blobs and parts are looked up in the home
// first and stored there. Parts that nothing shares are stored only if they were announced by
// expect_parts. If several processes need the same content, one fetches it while the others wait.
// Stored content is compared with its digest when it is read.
class KeptServer final : public ContentServer {
 public:
  KeptServer(std::shared_ptr<ContentServer> server, KeptServerOptions options)
      : server_(std::move(server)), options_(std::move(options)), breaker_(options_.rest) {}

  std::string name() const override { return server_->name(); }
  Result<void> expect_parts(const BlobDescriptor& blob, const std::vector<BytePart>& parts) override;

  // Returns the bytes that the server sent.
  std::uint64_t fetched_bytes() const { return fetched_; }

  // Locks this content, so that no other process on this node fetches it. nullptr: there is no
  // lock.
  std::unique_ptr<BuildLock> lock(const Sha256Digest& what) const;
  // Records a wait for a lock, after which the content was still missing. If it was long, the
  // server is skipped here too.
  void waited_in_vain(double seconds);

 protected:
  Result<bool> do_has_blob(const BlobDescriptor& blob) override;
  Result<void> do_read_blob(const BlobDescriptor& blob, BodySink& sink) override;
  Result<void> do_read_part(const BlobDescriptor& blob, const BytePart& part, BodySink& sink) override;
  Result<void> do_read_manifest(const Sha256Digest& digest, BodySink& sink) override;
  Result<std::optional<Sha256Digest>> do_read_channel(const std::string& channel) override;
  Result<void> do_write_blob(const BlobDescriptor& blob, BodySource& source) override;
  Result<void> do_write_manifest(const Sha256Digest& digest, ByteView manifest) override;
  Result<void> do_write_channel(const std::string& channel, const Sha256Digest& manifest) override;

 private:
  template <class Question>
  auto ask(Question&& question) -> decltype(question());
  void keep(const Sha256Digest& digest, ByteView bytes) const;
  template <class Question>
  Result<void> kept(const Sha256Digest& digest, std::uint64_t limit, BodySink& sink, Question&& question);

  const std::shared_ptr<ContentServer> server_;
  const KeptServerOptions options_;
  CircuitBreaker breaker_;
  std::atomic<std::uint64_t> fetched_{0};
};

}  // namespace cubinet
