// SPDX-License-Identifier: Apache-2.0
#include "registry_token.hpp"

#include <cubinet/distribution/manifest.hpp>
#include <cubinet/distribution/oci_registry.hpp>

namespace cubinet {
namespace {

// Without this header a registry answers 404 for existing manifests.
const char* const kAccept =
    "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json";

class OciRegistry final : public ContentServer {
 public:
  OciRegistry(std::shared_ptr<HttpClient> client, Url registry, std::string repository,
              std::optional<RegistryCredentials> credentials)
      : client_(client),
        registry_(registry),
        repository_(std::move(repository)),
        authorizer_(std::move(client), std::move(registry), std::move(credentials)) {}

  std::string name() const override { return "oci://" + registry_.authority() + "/" + repository_; }

 protected:
  Result<bool> do_has_blob(const BlobDescriptor& blob) override {
    CUBINET_TRY_ASSIGN(const HttpResponse response,
                       client_->send(to(HttpMethod::head, "blobs/", blob.digest)));
    if (response.status == 404) return false;
    if (!response.succeeded()) return refusal_error("cannot find out whether a blob exists", response);
    const std::string* length = response.header("Content-Length");
    return length != nullptr && *length == std::to_string(blob.size);
  }

  Result<void> do_read_blob(const BlobDescriptor& blob, BodySink& sink) override {
    HttpRequest request = to(HttpMethod::get, "blobs/", blob.digest);
    request.limit = blob.size;
    request.expected_size = blob.size;
    request.sink = &sink;
    return succeed(request, "the blob sha256:" + blob.digest.to_hex() + " cannot be read");
  }

  Result<void> do_read_part(const BlobDescriptor& blob, const BytePart& part, BodySink& sink) override {
    HttpRequest request = to(HttpMethod::get, "blobs/", blob.digest);
    request.limit = part.count;
    request.expected_size = blob.size;
    request.range = HttpRange{part.offset, part.count};
    request.sink = &sink;
    return succeed(request, "a part of the blob sha256:" + blob.digest.to_hex() + " cannot be read");
  }

  Result<void> do_write_blob(const BlobDescriptor& blob, BodySource& source) override {
    auto written = upload(blob.digest, source);
    if (written) return written;
    // An upload whose answer was lost is complete, and querying its session is refused.
    const auto there = do_has_blob(blob);
    if (there && *there) return {};
    return written;
  }

  Result<void> do_read_manifest(const Sha256Digest& digest, BodySink& sink) override {
    HttpRequest request = to(HttpMethod::get, "manifests/", digest);
    request.limit = kMaximumManifest;
    request.sink = &sink;
    request.headers.push_back({"Accept", kAccept});
    return succeed(request, "the manifest sha256:" + digest.to_hex() + " cannot be read");
  }

  Result<void> do_write_manifest(const Sha256Digest& digest, ByteView manifest) override {
    return put_manifest(to(HttpMethod::put, "manifests/", digest), manifest);
  }

  Result<std::optional<Sha256Digest>> do_read_channel(const std::string& channel) override {
    HttpRequest request = to(HttpMethod::get, "manifests/" + channel);
    MemorySink sink;
    request.limit = kMaximumManifest;
    request.sink = &sink;
    request.headers.push_back({"Accept", kAccept});
    CUBINET_TRY_ASSIGN(const HttpResponse response, client_->send(request));
    if (response.status == 404) return std::optional<Sha256Digest>();
    if (!response.succeeded()) return refusal_error("the tag '" + channel + "' cannot be read", response);
    return std::optional(sha256(sink.bytes));
  }

  // A tag is written together with the manifest that it names.
  Result<void> do_write_channel(const std::string& channel, const Sha256Digest& manifest) override {
    CUBINET_TRY_ASSIGN(const Bytes content, read_manifest(manifest));
    return put_manifest(to(HttpMethod::put, "manifests/" + channel), content);
  }

 private:
  HttpRequest to(HttpMethod method, const std::string& path) {
    HttpRequest request{method, registry_.below("v2/" + repository_ + "/" + path)};
    request.authorizer = &authorizer_;
    return request;
  }
  HttpRequest to(HttpMethod method, const char* kind, const Sha256Digest& digest) {
    return to(method, std::string(kind) + "sha256:" + digest.to_hex());
  }

  Result<void> succeed(const HttpRequest& request, const std::string& what) {
    CUBINET_TRY_ASSIGN(const HttpResponse response, client_->send(request));
    if (response.succeeded()) return {};
    return refusal_error(what, response);
  }

  Result<void> put_manifest(HttpRequest request, ByteView manifest) {
    MemorySource source(manifest);
    request.body = &source;
    request.headers.push_back({"Content-Type", std::string(kManifestMediaType)});
    return succeed(request, "the manifest cannot be written");
  }

  // Starts an upload, then sends the content: registries ignore content in the first request.
  Result<void> upload(const Sha256Digest& digest, BodySource& source) {
    HttpRequest begin = to(HttpMethod::post, "blobs/uploads/");
    begin.repeatable = true;
    CUBINET_TRY_ASSIGN(const HttpResponse begun, client_->send(begin));
    const std::string* location = begun.header("Location");
    if (begun.status != 202 || location == nullptr) return refusal_error("no upload can be begun", begun);
    CUBINET_TRY_ASSIGN(Url place, begun.url.resolve(*location));
    place.query += (place.query.empty() ? "" : "&") +
                   ("digest=" + percent_encode("sha256:" + digest.to_hex(), Slashes::encoded));
    HttpRequest request{HttpMethod::put, std::move(place)};
    // On another host, the state in the URL authorises the request.
    if (request.url.has_origin_of(registry_)) request.authorizer = &authorizer_;
    request.body = &source;
    request.body_digest = digest;
    request.headers.push_back({"Content-Type", "application/octet-stream"});
    return succeed(request, "the blob sha256:" + digest.to_hex() + " cannot be written");
  }

  std::shared_ptr<HttpClient> client_;
  Url registry_;
  std::string repository_;
  RegistryAuthorizer authorizer_;
};

}  // namespace

std::shared_ptr<ContentServer> open_oci_registry(std::shared_ptr<HttpClient> client, Url registry,
                                                 std::string repository,
                                                 std::optional<RegistryCredentials> credentials) {
  return std::make_shared<OciRegistry>(std::move(client), std::move(registry), std::move(repository),
                                       std::move(credentials));
}

}  // namespace cubinet
