// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/callback.hpp>
#include <cubinet/distribution/content_server.hpp>
#include <cubinet/session/transfer_progress.hpp>

#include <atomic>
#include <memory>

namespace cubinet {

// A server that wraps another one, reports the progress of transfers and can cancel them. A
// cancelled transfer returns unavailable.
class TransferWatch final : public ContentServer {
 public:
  // Either callback may be empty.
  TransferWatch(std::shared_ptr<ContentServer> server, Callback<void(const TransferProgress&)> progress,
                Callback<bool()> cancelled)
      : server_(std::move(server)), progress_(std::move(progress)), cancelled_(std::move(cancelled)) {}

  std::string name() const override { return server_->name(); }

  // Starts counting: reports 0 of `total` bytes.
  void expect(std::uint64_t total);

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
  class CountedSink;

  Result<void> check() const;  // returns unavailable after a cancellation
  void count(std::int64_t bytes);

  const std::shared_ptr<ContentServer> server_;
  const Callback<void(const TransferProgress&)> progress_;
  const Callback<bool()> cancelled_;
  std::atomic<std::uint64_t> bytes_{0};
  std::atomic<std::uint64_t> total_{0};
};

}  // namespace cubinet
