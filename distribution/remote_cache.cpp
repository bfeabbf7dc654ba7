// SPDX-License-Identifier: Apache-2.0
#include "http_place.hpp"
#include "upload_queue.hpp"

#include <cubinet/base/byte_stream.hpp>
#include <cubinet/base/fork_guard.hpp>
#include <cubinet/cubin_registry/downloads.hpp>
#include <cubinet/distribution/action_result.hpp>
#include <cubinet/distribution/circuit_breaker.hpp>
#include <cubinet/distribution/remote_cache.hpp>
#include <cubinet/distribution/server_reference.hpp>
#include <cubinet/spec/image_check.hpp>
#include <cubinet/trust/signature.hpp>
#include <cubinet/trust/verification.hpp>

#include <atomic>

namespace cubinet {
namespace {

constexpr const char* kRecordFile = "kernel.record";
constexpr const char* kImageFile = "kernel.image";
// The limit of an entry. Record and signatures have a few KB.
constexpr std::uint64_t kMaximumEntryBytes = std::uint64_t{1} << 20;

struct CacheUses {
  std::atomic<std::uint64_t> asked{0};
  std::atomic<std::uint64_t> found{0};
  std::atomic<std::uint64_t> bytes{0};
};

class RemoteCache final : public BuildCache {
 public:
  RemoteCache(RemoteCacheOptions options, HttpPlace place)
      : options_(std::move(options)),
        place_(std::move(place)),
        asks_(!options_.client->settings().offline && !options_.policy->local_only),
        breaker_(options_.rest),
        writing_(options_.rest),
        uploads_(options_.client->settings(), options_.patience, options_.log) {}

  ~RemoteCache() override {
    if (fork_guard_.in_original_process()) note_uses();
  }

  const std::string& place() const override { return options_.reference; }
  std::uint64_t fetched_bytes() const override { return uses_.bytes; }

  Result<std::optional<Cubin>> find_build(const KernelIdentity& identity, ImageKind kind,
                                          const BuildFingerprint& fingerprint) override {
    if (!asks_) return std::optional<Cubin>();
    if (!fork_guard_.in_original_process())
      return Error{ErrorCode::unavailable,
                   "an open cache belongs to the process that this one was forked from",
                   "open it in the child"};
    ++uses_.asked;
    auto found = breaker_.ask(options_.reference, [&] { return fetch(identity, kind, fingerprint); });
    if (found && *found) ++uses_.found;
    return found;
  }

  void share(const Cubin& cubin) override {
    if (!asks_ || !options_.writer || !fork_guard_.in_original_process()) return;
    uploads_.push([this, cubin](HttpClient& client) {
      return writing_.ask(options_.reference, [&] { return write(client, cubin); });
    });
  }

 private:
  Result<std::optional<Cubin>> fetch(const KernelIdentity& identity, ImageKind kind,
                                     const BuildFingerprint& fingerprint);
  Result<CubinRecord> verified_record(const std::string& name, ByteView entry) const;
  Result<std::optional<Bytes>> get(const std::string& path, std::uint64_t limit,
                                   std::optional<std::uint64_t> size = {});
  Result<void> write(HttpClient& client, const Cubin& cubin) const;
  Result<void> put(HttpClient& client, const std::string& path, ByteView bytes) const;
  void note_uses();

  const RemoteCacheOptions options_;
  const HttpPlace place_;
  const bool asks_;
  const ForkGuard fork_guard_;
  CircuitBreaker breaker_;
  CircuitBreaker writing_;  // separate, because a reader may lack the right to write
  CacheUses uses_;
  UploadQueue uploads_;  // destroyed first, because its uploads use the other members
};

std::string blob_path(const Sha256Digest& digest) {
  return "cas/" + digest.to_hex();
}

// Returns whether the record is of this build, made here and identified by its fingerprint alone:
// neither shipped nor imported.
bool is_that_build(const CubinRecord& record, const KernelIdentity& identity, ImageKind kind,
                   const BuildFingerprint& fingerprint) {
  return record.identity == identity && record.kind == kind && record.fingerprint == fingerprint &&
         record.origin == CubinOrigin::compiled && record.version == 0;
}

Result<std::optional<Bytes>> RemoteCache::get(const std::string& path, std::uint64_t limit,
                                              std::optional<std::uint64_t> size) {
  MemorySink sink;
  HttpRequest request{HttpMethod::get, place_.base.below(path)};
  request.authorizer = place_.authorizer.get();
  request.limit = limit;
  request.expected_size = size;
  request.sink = &sink;
  CUBINET_TRY_ASSIGN(const HttpResponse response, options_.client->send(request));
  uses_.bytes += response.body_bytes;
  if (response.status == 404 || response.status == 410) return std::optional<Bytes>();
  if (!response.succeeded()) return refusal_error("'" + path + "' cannot be read", response);
  return std::optional(std::move(sink.bytes));
}

// Verifies signatures before parsing what they sign.
Result<CubinRecord> RemoteCache::verified_record(const std::string& name, ByteView entry) const {
  CUBINET_TRY_ASSIGN(const ActionResult result, parse_action_result(entry));
  const ActionResult::File* record = result.find(kRecordFile);
  if (record == nullptr)
    return Error{ErrorCode::corruption, "'" + name + "' has no " + std::string(kRecordFile)};
  CUBINET_TRY(verify_signatures(*options_.policy, name, record->contents,
                                [&](const std::string& key_id) -> Result<std::optional<Bytes>> {
                                  const auto* file =
                                      result.find(signature_path(kRecordFile, key_id).string());
                                  if (file == nullptr) return std::optional<Bytes>();
                                  return std::optional(file->contents);
                                }));
  return decode_record(record->contents);
}

Result<std::optional<Cubin>> RemoteCache::fetch(const KernelIdentity& identity, ImageKind kind,
                                                const BuildFingerprint& fingerprint) {
  const HttpClient::Session session(*options_.client);
  const std::string path = "ac/" + action_key(identity, kind, fingerprint).to_hex();
  CUBINET_TRY_ASSIGN(const auto entry, get(path, kMaximumEntryBytes));
  if (!entry) return std::optional<Cubin>();
  const std::string name = place_.base.below(path).for_people();
  CUBINET_TRY_ASSIGN(CubinRecord record, verified_record(name, *entry));
  if (!is_that_build(record, identity, kind, fingerprint))
    return Error{ErrorCode::untrusted, "'" + name + "' holds another build than it is named by",
                 "somebody who can write to the cache stored it: check who may write"};
  // A server may have evicted the image and kept the entry.
  CUBINET_TRY_ASSIGN(auto image, get(blob_path(record.digest), record.size, record.size));
  if (!image) return std::optional<Cubin>();
  if (image->size() != record.size || sha256(*image) != record.digest)
    return Error{ErrorCode::corruption, "the image of '" + name + "' is not the one that was signed"};
  CUBINET_TRY(check_image(record, *image));
  return std::optional(Cubin{std::make_shared<const CubinRecord>(std::move(record)),
                             std::make_shared<const Bytes>(*std::move(image))});
}

Result<void> RemoteCache::put(HttpClient& client, const std::string& path, ByteView bytes) const {
  MemorySource source(bytes);
  HttpRequest request{HttpMethod::put, place_.base.below(path)};
  request.authorizer = place_.authorizer.get();
  request.body = &source;
  request.body_digest = sha256(bytes);
  request.headers.push_back({"Content-Type", "application/octet-stream"});
  CUBINET_TRY_ASSIGN(const HttpResponse response, client.send(request));
  if (response.succeeded()) return {};
  return refusal_error("'" + path + "' cannot be written", response);
}

// Writes an entry last, so that everything it names exists. Record and signature are also stored
// below cas/, for servers that require all content there.
Result<void> RemoteCache::write(HttpClient& client, const Cubin& cubin) const {
  const CubinRecord& record = *cubin.record;
  Bytes encoded = encode_record(record);
  CUBINET_TRY_ASSIGN(const MinisignSignature signature,
                     sign(*options_.writer, encoded, "build of kernel " + record.identity.key().to_string()));
  const std::string text = signature.to_file();
  const ByteView signed_by = as_bytes(text);
  const std::string signature_file = signature_path(kRecordFile, options_.writer->public_key().id()).string();
  const ActionResult result{
      {{kImageFile, record.digest, record.size},
       {kRecordFile, sha256(encoded), encoded.size(), encoded},
       {signature_file, sha256(signed_by), signed_by.size(), Bytes(signed_by.begin(), signed_by.end())}}};
  const Bytes entry = encode_action_result(result);
  if (entry.size() > kMaximumEntryBytes)
    return Error{ErrorCode::unsupported, "an entry of more than 1 MiB is not written"};
  CUBINET_TRY(put(client, blob_path(record.digest), *cubin.image));
  for (const ActionResult::File& file : result.files) {
    if (!file.contents.empty()) CUBINET_TRY(put(client, blob_path(file.digest), file.contents));
  }
  const Sha256Digest key = action_key(record.identity, record.kind, record.fingerprint);
  return put(client, "ac/" + key.to_hex(), entry);
}

void RemoteCache::note_uses() {
  if (options_.home == nullptr || !options_.home->description().writable || uses_.asked == 0) return;
  const auto noted = options_.home->downloads().change(options_.reference, [&](KnownChannel& channel) {
    channel.uses.asked += uses_.asked;
    channel.uses.found += uses_.found;
    channel.uses.used += uses_.found;
    channel.uses.bytes += uses_.bytes;
  });
  if (!noted)
    log(options_.log, LogLevel::debug, "the uses of a cache are not recorded: " + noted.error().to_line());
}

}  // namespace

Sha256Digest action_key(const KernelIdentity& identity, ImageKind kind, const BuildFingerprint& fingerprint) {
  ByteWriter writer;
  writer.string("cubinet build 1");
  writer.string(as_text(identity.encoding()));
  writer.u8(static_cast<std::uint8_t>(kind));
  writer.raw(fingerprint.digest.bytes);
  return sha256(writer.bytes());
}

Result<std::shared_ptr<BuildCache>> open_remote_cache(RemoteCacheOptions options) {
  CUBINET_TRY_ASSIGN(const ServerReference reference, ServerReference::parse(options.reference));
  using Layout = ServerReference::Layout;
  const bool over_http = reference.layout == Layout::https || reference.layout == Layout::s3;
  if (!over_http || !reference.channel.empty() || reference.digest)
    return Error{ErrorCode::invalid_argument, "'" + options.reference + "' is no cache",
                 "name it by its URL alone: https://host[:port]/base or s3://bucket/prefix"};
  options.reference = reference.to_string();
  if (!options.policy || options.policy->threshold == 0)
    return Error{
        ErrorCode::untrusted,
        "no policy says whose builds are taken from the cache '" + options.reference + "'",
        "name its writers' public keys in the policy: every writer of the cache could run code here"};
  if (options.files == nullptr) options.files = posix_file_system();
  CUBINET_TRY_ASSIGN(HttpPlace place, http_place(reference, options.files, options.credentials));
  return std::shared_ptr<BuildCache>(std::make_shared<RemoteCache>(std::move(options), std::move(place)));
}

}  // namespace cubinet
