// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/sha256.hpp>
#include <cubinet/transport/url.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

enum class HttpMethod { get, head, put, post };
std::string_view to_string(HttpMethod method);

struct HttpHeader {
  std::string name;
  std::string value;
};
using HttpHeaders = std::vector<HttpHeader>;

// The value of the first header of this name, in whatever case it is written; nullptr when there is none.
const std::string* find_header(const HttpHeaders& headers, std::string_view name);

// What a request sends. Read from the start again where it is sent again. Does not have to be thread-safe.
class BodySource {
 public:
  virtual ~BodySource() = default;
  virtual std::uint64_t size() const = 0;
  // The bytes from `offset` on, as many as `into` holds or are left.
  virtual Result<std::size_t> read(std::uint64_t offset, std::span<std::byte> into) = 0;
};

// Where a response's body goes, piece by piece. An error ends the request, which is not repeated.
class BodySink {
 public:
  virtual ~BodySink() = default;
  // What comes is the body from its first byte on: what was written so far is void.
  virtual Result<void> restart() = 0;
  virtual Result<void> write(ByteView bytes) = 0;
};

// Both in memory. The source does not own its bytes.
class MemorySource final : public BodySource {
 public:
  explicit MemorySource(ByteView bytes) : bytes_(bytes) {}
  std::uint64_t size() const override { return bytes_.size(); }
  Result<std::size_t> read(std::uint64_t offset, std::span<std::byte> into) override;

 private:
  ByteView bytes_;
};
class MemorySink final : public BodySink {
 public:
  Result<void> restart() override {
    bytes.clear();
    return {};
  }
  Result<void> write(ByteView more) override {
    bytes.insert(bytes.end(), more.begin(), more.end());
    return {};
  }
  Bytes bytes;
};

class Authorizer;

struct HttpRange {
  std::uint64_t offset = 0;
  std::uint64_t count = 0;  // at least 1
};

// Does not own what it points to.
struct HttpRequest {
  HttpMethod method = HttpMethod::get;
  Url url;
  HttpHeaders headers = {};
  BodySource* body = nullptr;                       // of PUT and POST
  std::optional<Sha256Digest> body_digest = {};     // for a signer, where the caller knows it
  std::optional<HttpRange> range = {};              // of GET
  std::uint64_t limit = 0;                          // the most that a body of a success may have
  std::optional<std::uint64_t> expected_size = {};  // of all that the URL names, where the caller knows it
  BodySink* sink = nullptr;                         // for the body of a success; nullptr: it is thrown away
  Authorizer* authorizer = nullptr;
  bool repeatable = false;  // of POST: that it may be sent twice, as the others may
};

// A server's last word: a success, or a refusal that asking again would not change.
struct HttpResponse {
  int status = 0;
  HttpHeaders headers = {};
  Url url = {};              // whose answer it is, behind all redirects
  std::string refusal = {};  // the beginning of the body where the status is no success
  std::uint64_t body_bytes = 0;

  bool succeeded() const { return status >= 200 && status < 300; }
  const std::string* header(std::string_view name) const { return find_header(headers, name); }
};

// What a response that is no success means: not_found for 404 and 410, else unavailable. `what` names the
// request's purpose ("the manifest of 'stable' cannot be read").
Error refusal_error(std::string what, const HttpResponse& response);

// Who may ask. Belongs to the server of the request's own URL: nothing of it goes to where that redirects.
// Thread-safe.
class Authorizer {
 public:
  virtual ~Authorizer() = default;
  // The headers that the request is sent with, beside its own.
  virtual Result<HttpHeaders> headers(const HttpRequest& request) = 0;
  // The server answered 401. True: headers() has something else now, and the request is worth one more.
  virtual Result<bool> refused(const HttpRequest& request, const HttpResponse& response);
};

// A user and password, or a token, as they are.
struct BasicCredentials {
  std::string user;
  std::string password;
};
HttpHeader basic_authorization(const BasicCredentials& credentials);
HttpHeader bearer_authorization(std::string_view token);

// Sends the same header with every request.
class FixedAuthorizer final : public Authorizer {
 public:
  explicit FixedAuthorizer(HttpHeader header) : header_(std::move(header)) {}
  Result<HttpHeaders> headers(const HttpRequest&) override { return HttpHeaders{header_}; }

 private:
  HttpHeader header_;
};

}  // namespace cubinet
