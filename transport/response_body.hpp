// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/transport/http_message.hpp>

#include <optional>

namespace cubinet {

// The position of a 206 response's bytes in the whole content: "bytes 0-99/1000", or "/*" if the
// server does not state the size. Parsing returns nullopt for any other text, for a last byte
// before the first, and for an end beyond the whole.
struct ContentRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::optional<std::uint64_t> whole;
};
std::optional<ContentRange> parse_content_range(std::string_view value);

// The state of a response's body over all attempts of a request. It determines which bytes to
// request and whether a response contains them. It writes only requested bytes to the sink. It does
// not handle connections.
class ResponseBody {
 public:
  // The request must outlive this object.
  explicit ResponseBody(const HttpRequest& request) : request_(request) {}

  // Returns the headers that request the missing bytes. Called before each attempt. Restarts from
  // the first byte unless a strong ETag proves that the rest belongs to the same content.
  Result<HttpHeaders> ask();

  // Processes the head of a successful response. Returns false if its body cannot be used and the
  // request must be repeated. An error is final.
  Result<bool> begin(int status, const HttpHeaders& headers);
  // Processes a chunk of the body.
  Result<void> write(ByteView bytes);
  // Returns whether all requested bytes have arrived. The rest of the body need not be read.
  bool has_enough() const;
  // Returns whether the body is complete. Called after an attempt whose body ended as its framing
  // states.
  bool is_whole() const;
  // Discards the received bytes. Called if the server responds that the missing range is beyond the
  // end, so that these bytes belong to other content.
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
  std::uint64_t received_ = 0;  // bytes in the sink
  // Bytes still to skip of a whole body that answers a range request.
  std::uint64_t skipped_ = 0;
  std::optional<std::uint64_t> announced_;  // bytes in the sink when this body has ended
  // The ETag of the received bytes. Empty: nothing proves that a rest belongs to them.
  std::string etag_;
  bool asked_for_part_ = false;
};

}  // namespace cubinet
