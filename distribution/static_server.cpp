// SPDX-License-Identifier: Apache-2.0
#include <cubinet/distribution/folder_server.hpp>
#include <cubinet/distribution/static_server.hpp>

namespace cubinet {
namespace {

class StaticServer final : public ContentServer {
 public:
  StaticServer(std::shared_ptr<HttpClient> client, Url base, std::shared_ptr<Authorizer> authorizer)
      : client_(std::move(client)), base_(std::move(base)), authorizer_(std::move(authorizer)) {}

  std::string name() const override { return base_.for_people(); }

 protected:
  Result<bool> do_has_blob(const BlobDescriptor& blob) override {
    const HttpRequest request = to(HttpMethod::head, path_of(blob.digest));
    CUBINET_TRY_ASSIGN(const HttpResponse response, client_->send(request));
    // S3 returns 403 for missing objects to clients that may not list the bucket.
    if (response.status == 404 || response.status == 410 || response.status == 403) return false;
    if (!response.succeeded()) return refusal_error("cannot find out whether a blob exists", response);
    const std::string* length = response.header("Content-Length");
    return length != nullptr && *length == std::to_string(blob.size);
  }

  Result<void> do_read_blob(const BlobDescriptor& blob, BodySink& sink) override {
    HttpRequest request = to(HttpMethod::get, path_of(blob.digest));
    request.limit = blob.size;
    request.expected_size = blob.size;
    request.sink = &sink;
    return succeed(request, "the blob sha256:" + blob.digest.to_hex() + " cannot be read");
  }

  Result<void> do_read_part(const BlobDescriptor& blob, const BytePart& part, BodySink& sink) override {
    HttpRequest request = to(HttpMethod::get, path_of(blob.digest));
    request.limit = part.count;
    request.expected_size = blob.size;
    request.range = HttpRange{part.offset, part.count};
    request.sink = &sink;
    return succeed(request, "a part of the blob sha256:" + blob.digest.to_hex() + " cannot be read");
  }

  Result<void> do_write_blob(const BlobDescriptor& blob, BodySource& source) override {
    return put(path_of(blob.digest), source, blob.digest);
  }

  Result<void> do_read_manifest(const Sha256Digest& digest, BodySink& sink) override {
    HttpRequest request = to(HttpMethod::get, path_of(digest));
    request.limit = kMaximumManifest;
    request.sink = &sink;
    return succeed(request, "the manifest sha256:" + digest.to_hex() + " cannot be read");
  }

  Result<void> do_write_manifest(const Sha256Digest& digest, ByteView manifest) override {
    MemorySource source(manifest);
    return put(path_of(digest), source, digest);
  }

  Result<std::optional<Sha256Digest>> do_read_channel(const std::string& channel) override {
    HttpRequest request = to(HttpMethod::get, "refs/" + channel);
    MemorySink sink;
    request.limit = kMaximumChannelText;
    request.sink = &sink;
    // A channel is the only content that changes, so proxies must revalidate it.
    request.headers.push_back({"Cache-Control", "no-cache"});
    CUBINET_TRY_ASSIGN(const HttpResponse response, client_->send(request));
    if (response.status == 404 || response.status == 410) return std::optional<Sha256Digest>();
    if (!response.succeeded()) return refusal_error("the channel '" + channel + "' cannot be read", response);
    CUBINET_TRY_ASSIGN(const Sha256Digest digest,
                       parse_channel_text(as_text(sink.bytes), response.url.for_people()));
    return std::optional(digest);
  }

  Result<void> do_write_channel(const std::string& channel, const Sha256Digest& manifest) override {
    const std::string text = channel_text(manifest);
    MemorySource source(as_bytes(text));
    return put("refs/" + channel, source, sha256(as_bytes(text)));
  }

 private:
  static std::string path_of(const Sha256Digest& digest) { return "blobs/sha256/" + digest.to_hex(); }

  HttpRequest to(HttpMethod method, const std::string& path) {
    HttpRequest request{method, base_.below(path)};
    request.authorizer = authorizer_.get();
    return request;
  }

  Result<void> succeed(const HttpRequest& request, const std::string& what) {
    CUBINET_TRY_ASSIGN(const HttpResponse response, client_->send(request));
    if (response.succeeded()) return {};
    return refusal_error(what, response);
  }

  Result<void> put(const std::string& path, BodySource& source, const Sha256Digest& digest) {
    HttpRequest request = to(HttpMethod::put, path);
    request.body = &source;
    request.body_digest = digest;
    request.headers.push_back({"Content-Type", "application/octet-stream"});
    return succeed(request, "'" + path + "' cannot be written");
  }

  std::shared_ptr<HttpClient> client_;
  Url base_;
  std::shared_ptr<Authorizer> authorizer_;
};

}  // namespace

std::shared_ptr<ContentServer> open_static_server(std::shared_ptr<HttpClient> client, Url base,
                                                  std::shared_ptr<Authorizer> authorizer) {
  return std::make_shared<StaticServer>(std::move(client), std::move(base), std::move(authorizer));
}

}  // namespace cubinet
