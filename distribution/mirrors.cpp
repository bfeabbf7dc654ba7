// SPDX-License-Identifier: Apache-2.0
#include "mirror_order.hpp"

#include <cubinet/distribution/mirrors.hpp>

namespace cubinet {
namespace {

class Mirrors final : public ContentServer {
 public:
  Mirrors(std::vector<std::shared_ptr<ContentServer>> servers, std::chrono::milliseconds rest)
      : servers_(std::move(servers)), order_(servers_.size(), rest) {}

  std::string name() const override { return servers_.front()->name(); }

 protected:
  Result<bool> do_has_blob(const BlobDescriptor& blob) override { return servers_.front()->has_blob(blob); }
  Result<void> do_write_blob(const BlobDescriptor& blob, BodySource& source) override {
    return servers_.front()->write_blob(blob, source);
  }
  Result<void> do_write_manifest(const Sha256Digest&, ByteView manifest) override {
    CUBINET_TRY(servers_.front()->write_manifest(manifest));
    return {};
  }
  Result<void> do_write_channel(const std::string& channel, const Sha256Digest& manifest) override {
    return servers_.front()->write_channel(channel, manifest);
  }

  Result<void> do_read_blob(const BlobDescriptor& blob, BodySink& sink) override {
    return first_of([&](ContentServer& server, bool again) -> Result<void> {
      if (again) CUBINET_TRY(sink.restart());
      return server.read_blob(blob, sink);
    });
  }
  Result<void> do_read_part(const BlobDescriptor& blob, const BytePart& part, BodySink& sink) override {
    return first_of([&](ContentServer& server, bool) -> Result<void> {
      CUBINET_TRY_ASSIGN(const Bytes bytes, server.read_blob_part(blob, part));
      return sink.write(bytes);
    });
  }
  Result<void> do_read_manifest(const Sha256Digest& digest, BodySink& sink) override {
    return first_of([&](ContentServer& server, bool) -> Result<void> {
      CUBINET_TRY_ASSIGN(const Bytes bytes, server.read_manifest(digest));
      return sink.write(bytes);
    });
  }
  Result<std::optional<Sha256Digest>> do_read_channel(const std::string& channel) override {
    std::optional<Sha256Digest> found;
    CUBINET_TRY(first_of(
        [&](ContentServer& server, bool) -> Result<void> {
          CUBINET_TRY_ASSIGN(found, server.read_channel(channel));
          if (found) return {};
          return Error{ErrorCode::not_found, server.name() + " has no channel '" + channel + "'"};
        },
        ErrorCode::not_found));
    return found;
  }

 private:
  // Queries the servers in the order of MirrorOrder.
  template <class Ask>
  Result<void> first_of(const Ask& ask, std::optional<ErrorCode> accepted = {}) {
    return order_.first_of([&](std::size_t server, bool again) { return ask(*servers_[server], again); },
                           accepted);
  }

  std::vector<std::shared_ptr<ContentServer>> servers_;
  MirrorOrder order_;
};

}  // namespace

std::shared_ptr<ContentServer> join_mirrors(std::vector<std::shared_ptr<ContentServer>> servers,
                                            std::chrono::milliseconds rest) {
  if (servers.size() == 1) return std::move(servers.front());
  return std::make_shared<Mirrors>(std::move(servers), rest);
}

}  // namespace cubinet
