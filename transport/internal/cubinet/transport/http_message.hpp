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

// Returns the value of the first header of this name, ignoring case, or nullptr if there is none.
const std::string* find_header(const HttpHeaders& headers, std::string_view name);

// A source of a request's body. It is read from the start again when the request is repeated. It
// need not be thread-safe.
class BodySource {
 public:
  virtual ~BodySource() = default;
  virtual std::uint64_t size() const = 0;
  // Reads the bytes from `offset` on, until `into` is full or the source ends.
  virtual Result<std::size_t> read(std::uint64_t offset, std::span<std::byte> into) = 0;
};

// A sink for a response's body, which arrives in chunks. An error ends the request without a retry.
class BodySink {
 public:
  virtual ~BodySink() = default;
  // Discards everything written so far. The next bytes start the body again.
  virtual Result<void> restart() = 0;
  virtual Result<void> write(ByteView bytes) = 0;
};

// A source and a sink in memory. The source does not own its bytes.
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

// A request. It does not own what it points to.
struct HttpRequest {
  HttpMethod method = HttpMethod::get;
  Url url;
  HttpHeaders headers = {};
  BodySource* body = nullptr;                    // for PUT and POST
  std::optional<Sha256Digest> body_digest = {};  // for a signer, if the caller knows it
  std::optional<HttpRange> range = {};           // for GET
  // The size limit of a successful response's body.
  std::uint64_t limit = 0;
  // The size of the URL's whole content, if the caller knows it.
  std::optional<std::uint64_t> expected_size = {};
  // Receives the body of a successful response. nullptr discards it.
  BodySink* sink = nullptr;
  Authorizer* authorizer = nullptr;
  bool repeatable = false;  // if true, a POST may be sent twice, like the other methods
};

// A server's final response: a success, or a refusal that a retry would not change.
struct HttpResponse {
  int status = 0;
  HttpHeaders headers = {};
  Url url = {};              // the URL that responded, after all redirects
  std::string refusal = {};  // the beginning of the body if the status is not a success
  std::uint64_t body_bytes = 0;

  bool succeeded() const { return status >= 200 && status < 300; }
  const std::string* header(std::string_view name) const { return find_header(headers, name); }
};

// Returns the error for an unsuccessful response: not_found for 404 and 410, otherwise unavailable.
// `what` names the purpose of the request ("the manifest of 'stable' cannot be read").
Error refusal_error(std::string what, const HttpResponse& response);

// An interface that adds credentials to requests. It applies to the server of the request's own
// URL: redirects to other servers receive none of its headers. Thread-safe.
class Authorizer {
 public:
  virtual ~Authorizer() = default;
  // Returns the headers to send in addition to the request's own.
  virtual Result<HttpHeaders> headers(const HttpRequest& request) = 0;
  // Handles a 401 response. Returns true if headers() has changed and the request should be sent
  // once more.
  virtual Result<bool> refused(const HttpRequest& request, const HttpResponse& response);
};

// A user and password, or a token, in plain text.
struct BasicCredentials {
  std::string user;
  std::string password;
};
HttpHeader basic_authorization(const BasicCredentials& credentials);
HttpHeader bearer_authorization(std::string_view token);

// An authorizer that sends the same header with every request.
class FixedAuthorizer final : public Authorizer {
 public:
  explicit FixedAuthorizer(HttpHeader header) : header_(std::move(header)) {}
  Result<HttpHeaders> headers(const HttpRequest&) override { return HttpHeaders{header_}; }

 private:
  HttpHeader header_;
};

}  // namespace cubinet
