// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/transport/http_message.hpp>

#include <optional>

namespace cubinet {

// Where in the whole the bytes of a 206 lie: "bytes 0-99/1000", or "/*" where the server doesn't say. nullopt
// for anything else, a last before its first and an end behind the whole too.
struct ContentRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::optional<std::uint64_t> whole;
};
std::optional<ContentRange> parse_content_range(std::string_view value);

// What a request wants of a body, and how much of it has come, over all of its attempts: which bytes to ask
// for, whether what answers is these, and no byte into the sink that was not asked for. Knows nothing of
// connections.
class ResponseBody {
 public:
  // The request has to outlive it.
  explicit ResponseBody(const HttpRequest& request) : request_(request) {}

  // Before an attempt: the headers that ask for what is missing. Starts again from the first byte where
  // nothing proves that what comes would be the rest of the same (a strong ETag).
  Result<HttpHeaders> ask();

  // The head of a response that succeeded. False: what it sends is of no use any more, ask again. An error is
  // final.
  Result<bool> begin(int status, const HttpHeaders& headers);
  // A piece of its body.
  Result<void> write(ByteView bytes);
  // All has come that was wanted; what follows need not be read.
  bool has_enough() const { return request_.range && received_ == request_.range->count; }
  // After an attempt whose body ended as its framing says: whether that was all.
  bool is_whole() const;
  // The server says that what is missing lies behind the end: what has come is of something else.
  Result<void> forget();

  std::uint64_t received() const { return received_; }

 private:
  Result<bool> begin_part(const HttpHeaders& headers);
  Result<void> begin_whole(std::optional<std::uint64_t> length);
  std::uint64_t first_missing() const { return (request_.range ? request_.range->offset : 0) + received_; }
  std::uint64_t limit() const;
  Error wrong_size(std::uint64_t size) const;
  Error too_large() const;

  const HttpRequest& request_;
  std::uint64_t received_ = 0;              // in the sink
  std::uint64_t skipped_ = 0;               // bytes still to pass over, of a whole body that answers a range
  std::optional<std::uint64_t> announced_;  // how many are in the sink when this body has ended
  std::string etag_;                        // of what has come; empty: nothing proves what the rest would be
  bool asked_for_part_ = false;
};

}  // namespace cubinet
