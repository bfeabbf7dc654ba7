// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/text.hpp>
#include <cubinet/distribution/circuit_breaker.hpp>
#include <cubinet/distribution/mirrors.hpp>

#include <deque>

namespace cubinet {
namespace {

bool is_of_this_server(ErrorCode code) {
  return code == ErrorCode::not_found || code == ErrorCode::unavailable || code == ErrorCode::corruption ||
         code == ErrorCode::untrusted;
}

class Mirrors final : public ContentServer {
 public:
  Mirrors(std::vector<std::shared_ptr<ContentServer>> servers, std::chrono::milliseconds rest)
      : servers_(std::move(servers)) {
    for (std::size_t i = 0; i < servers_.size(); ++i)
      breakers_.emplace_back(rest);
  }

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
  // Asks one after the other. What all of them say is the error; `accepted` is none.
  template <class Ask>
  Result<void> first_of(const Ask& ask, std::optional<ErrorCode> accepted = {}) {
    std::vector<std::size_t> asked;
    for (std::size_t i = 0; i < servers_.size(); ++i) {
      if (breakers_[i].may_ask()) asked.push_back(i);
    }
    const std::size_t passed_over = asked.empty() ? 0 : servers_.size() - asked.size();
    for (std::size_t i = 0; asked.size() + passed_over < servers_.size(); ++i)
      asked.push_back(i);
    std::optional<Error> error;
    for (const std::size_t i : asked) {
      auto answer = ask(*servers_[i], error.has_value());
      breakers_[i].note(answer);
      if (answer || !is_of_this_server(answer.error().code)) return answer;
      add(error, std::move(answer).error());
    }
    if (passed_over > 0) {
      // Who was not asked may have it.
      if (error->code == ErrorCode::not_found) error->code = ErrorCode::unavailable;
      error->message +=
          "; " + plural(passed_over, "mirror") + " that gave no answer before was not asked again yet";
    }
    if (error->code == accepted) return {};
    return *std::move(error);
  }

  // That one lacks it says less than that another does not answer.
  static void add(std::optional<Error>& error, Error next) {
    if (!error) {
      error = std::move(next);
      return;
    }
    next.message = error->message + "; " + next.message;
    if (next.code == ErrorCode::not_found) next.code = error->code;
    error = std::move(next);
  }

  std::vector<std::shared_ptr<ContentServer>> servers_;
  std::deque<CircuitBreaker> breakers_;
};

}  // namespace

std::shared_ptr<ContentServer> join_mirrors(std::vector<std::shared_ptr<ContentServer>> servers,
                                            std::chrono::milliseconds rest) {
  if (servers.size() == 1) return std::move(servers.front());
  return std::make_shared<Mirrors>(std::move(servers), rest);
}

}  // namespace cubinet
