// SPDX-License-Identifier: Apache-2.0
#include <cubinet/session/transfer_watch.hpp>

#include <algorithm>

namespace cubinet {

// Counts the bytes that it passes to another sink. A body that is sent again is counted again from
// its beginning.
class TransferWatch::CountedSink final : public BodySink {
 public:
  CountedSink(TransferWatch& watch, BodySink& sink) : watch_(watch), sink_(sink) {}

  Result<void> restart() override {
    watch_.count(-written_);
    written_ = 0;
    return sink_.restart();
  }
  Result<void> write(ByteView bytes) override {
    CUBINET_TRY(watch_.check());
    CUBINET_TRY(sink_.write(bytes));
    written_ += static_cast<std::int64_t>(bytes.size());
    watch_.count(static_cast<std::int64_t>(bytes.size()));
    return {};
  }

 private:
  TransferWatch& watch_;
  BodySink& sink_;
  std::int64_t written_ = 0;
};

void TransferWatch::expect(std::uint64_t total) {
  total_ = total;
  bytes_ = 0;
  count(0);
}

Result<void> TransferWatch::check() const {
  if (!cancelled_ || !cancelled_()) return {};
  return Error{ErrorCode::unavailable, "the transfer from " + name() + " was cancelled",
               "the next one continues with what has arrived"};
}

void TransferWatch::count(std::int64_t bytes) {
  const std::uint64_t arrived = bytes_ += static_cast<std::uint64_t>(bytes);
  const std::uint64_t total = total_;
  if (progress_ && total > 0) progress_({std::min(arrived, total), total});
}

Result<bool> TransferWatch::do_has_blob(const BlobDescriptor& blob) {
  CUBINET_TRY(check());
  return server_->has_blob(blob);
}

Result<void> TransferWatch::do_read_blob(const BlobDescriptor& blob, BodySink& sink) {
  CUBINET_TRY(check());
  CountedSink counted(*this, sink);
  return server_->read_blob(blob, counted);
}

Result<void> TransferWatch::do_read_part(const BlobDescriptor& blob, const BytePart& part, BodySink& sink) {
  CUBINET_TRY(check());
  CUBINET_TRY_ASSIGN(const Bytes bytes, server_->read_blob_part(blob, part));
  CUBINET_TRY(sink.write(bytes));
  count(static_cast<std::int64_t>(bytes.size()));
  return {};
}

Result<void> TransferWatch::do_read_manifest(const Sha256Digest& digest, BodySink& sink) {
  CUBINET_TRY(check());
  CUBINET_TRY_ASSIGN(const Bytes bytes, server_->read_manifest(digest));
  return sink.write(bytes);
}

Result<std::optional<Sha256Digest>> TransferWatch::do_read_channel(const std::string& channel) {
  CUBINET_TRY(check());
  return server_->read_channel(channel);
}

Result<void> TransferWatch::do_write_blob(const BlobDescriptor& blob, BodySource& source) {
  CUBINET_TRY(check());
  return server_->write_blob(blob, source);
}

Result<void> TransferWatch::do_write_manifest(const Sha256Digest&, ByteView manifest) {
  CUBINET_TRY(check());
  CUBINET_TRY(server_->write_manifest(manifest));
  return {};
}

Result<void> TransferWatch::do_write_channel(const std::string& channel, const Sha256Digest& manifest) {
  CUBINET_TRY(check());
  return server_->write_channel(channel, manifest);
}

}  // namespace cubinet
