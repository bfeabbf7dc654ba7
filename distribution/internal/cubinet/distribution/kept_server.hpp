// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/log.hpp>
#include <cubinet/cubin_registry/home.hpp>
#include <cubinet/distribution/circuit_breaker.hpp>
#include <cubinet/distribution/content_server.hpp>

#include <atomic>

namespace cubinet {

struct KeptServerOptions {
  std::shared_ptr<Home> home = nullptr;  // nullptr: nothing is kept
  bool local_only = false;               // only what is kept: the server is not asked
  // How long another process's download is waited for.
  std::chrono::milliseconds patience = std::chrono::seconds(20);
  std::chrono::milliseconds rest = std::chrono::minutes(1);  // of a server that gave no answer
  LogSink log = {};
};

// A wait for another process that was this long says that the server gives it no answer.
bool is_in_vain(double seconds, std::chrono::milliseconds patience);

// A server behind what a home has of it: manifests, small blobs and parts are looked for there first,
// and kept. Parts that nothing shares are kept where they were expected alone. Of several processes that want
// the same one asks, the others wait and find it. Whatever is kept is compared with its digest when it is
// read.
class KeptServer final : public ContentServer {
 public:
  KeptServer(std::shared_ptr<ContentServer> server, KeptServerOptions options)
      : server_(std::move(server)), options_(std::move(options)), breaker_(options_.rest) {}

  std::string name() const override { return server_->name(); }
  Result<void> expect_parts(const BlobDescriptor& blob, const std::vector<BytePart>& parts) override;

  // That the server sent.
  std::uint64_t fetched_bytes() const { return fetched_; }

  // Nobody else on this node fetches what is called so, until the lock is gone; nullptr: who knows.
  std::unique_ptr<BuildLock> lock(const Sha256Digest& what) const;
  // Somebody had the lock for so long, and what was waited for has not come: the server is passed over here
  // too.
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
