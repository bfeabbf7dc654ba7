// SPDX-License-Identifier: Apache-2.0
#include "chunk_folder.hpp"
#include "temporary_file_sink.hpp"

#include <cubinet/base/sha256_hasher.hpp>
#include <cubinet/base/text.hpp>
#include <cubinet/distribution/bundle_transfer.hpp>
#include <cubinet/trust/signature.hpp>

#include <algorithm>
#include <optional>

namespace cubinet {
namespace {

constexpr std::string_view kSignatureSuffix = ".minisig";
constexpr std::size_t kMaximumSignatures = 64;
constexpr std::uint64_t kPassedChunk = std::uint64_t{8} << 20;
constexpr std::size_t kHashedChunk = std::size_t{1} << 20;

Result<BlobDescriptor> describe_source(BodySource& source) {
  Sha256Hasher hasher;
  Bytes chunk(kHashedChunk);
  for (std::uint64_t offset = 0; offset < source.size();) {
    CUBINET_TRY_ASSIGN(const std::size_t count, source.read(offset, chunk));
    hasher.raw(ByteView(chunk).first(count));
    offset += count;
  }
  return BlobDescriptor{hasher.finish(), source.size()};
}

Result<Manifest::Layer> push_layer(ContentServer& server, BodySource& source, std::string_view media_type,
                                   std::string title) {
  CUBINET_TRY_ASSIGN(const BlobDescriptor blob, describe_source(source));
  CUBINET_TRY(server.write_blob(blob, source));
  return Manifest::Layer{std::string(media_type), blob, std::move(title)};
}

bool is_key_id(std::string_view text) {
  return text.size() == 16 && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'F');
         });
}

// Returns the key id of "NAME.<key id>.minisig". No other text of a server becomes part of a file
// name.
std::optional<std::string> key_id_of_title(std::string_view title) {
  if (!title.ends_with(kSignatureSuffix)) return std::nullopt;
  title.remove_suffix(kSignatureSuffix.size());
  if (title.size() < 17 || title[title.size() - 17] != '.' || !is_key_id(title.substr(title.size() - 16)))
    return std::nullopt;
  return std::string(title.substr(title.size() - 16));
}

// A sink of the pack. A restart begins again with the root.
class PackSink final : public BodySink {
 public:
  PackSink(TemporaryFileSink& file, ByteView root) : file_(file), root_(root) {}
  Result<void> restart() override {
    CUBINET_TRY(file_.restart());
    return file_.write(root_);
  }
  Result<void> write(ByteView bytes) override { return file_.write(bytes); }

 private:
  TemporaryFileSink& file_;
  ByteView root_;
};

// A blob of one server as the body of a request to another. Only one chunk of it is in memory.
class PassedBlob final : public BodySource {
 public:
  PassedBlob(ContentServer& from, const BlobDescriptor& blob) : from_(from), blob_(blob) {}
  std::uint64_t size() const override { return blob_.size; }

  Result<std::size_t> read(std::uint64_t offset, std::span<std::byte> into) override {
    if (offset >= blob_.size) return std::size_t{0};
    if (offset < begin_) begin_again();  // it is sent again
    while (offset >= begin_ + chunk_.size())
      CUBINET_TRY(next_chunk());
    const ByteView rest = ByteView(chunk_).subspan(static_cast<std::size_t>(offset - begin_));
    const std::size_t count = std::min(rest.size(), into.size());
    std::copy_n(rest.begin(), count, into.begin());
    return count;
  }

 private:
  Result<void> next_chunk() {
    begin_ += chunk_.size();
    chunk_.clear();
    CUBINET_TRY_ASSIGN(chunk_,
                       from_.read_blob_part(blob_, {begin_, std::min(kPassedChunk, blob_.size - begin_)}));
    hasher_.raw(chunk_);
    if (begin_ + chunk_.size() < blob_.size) return {};
    const Sha256Digest found = hasher_.finish();
    if (found == blob_.digest) return {};
    begin_again();
    return Error{ErrorCode::corruption,
                 from_.name() + " answers for sha256:" + blob_.digest.to_hex() +
                     " with bytes that have the digest " + found.to_hex(),
                 "take it from another mirror, or upload it again"};
  }

  void begin_again() {
    hasher_ = Sha256Hasher();
    begin_ = 0;
    chunk_.clear();
  }

  ContentServer& from_;
  const BlobDescriptor blob_;
  Sha256Hasher hasher_;
  std::uint64_t begin_ = 0;  // offset of the chunk
  Bytes chunk_;
};

Result<void> pass_blob(ContentServer& from, const BlobDescriptor& blob, ContentServer& to) {
  CUBINET_TRY_ASSIGN(const bool there, to.has_blob(blob));
  if (there) return {};
  if (blob.size > kPassedChunk) {
    PassedBlob source(from, blob);
    return to.write_blob(blob, source);
  }
  CUBINET_TRY_ASSIGN(const Bytes bytes, from.read_blob(blob));
  MemorySource source(bytes);
  return to.write_blob(blob, source);
}

// Checks the size of the pack. The sizes in a manifest are not signed. The signed root states the
// size of the file.
Result<void> check_pack_size(const ContentServer& server, const RemoteBundle& bundle,
                             const BundleRoot& root) {
  const std::uint64_t behind_root =
      root.file_bytes - std::min<std::uint64_t>(bundle.root.size(), root.file_bytes);
  if (bundle.pack.size == behind_root) return {};
  return Error{ErrorCode::corruption,
               "sha256:" + bundle.manifest.to_hex() + " of " + server.name() + " names a pack of " +
                   plural(bundle.pack.size, "byte") + ", and its root states " + plural(behind_root, "byte"),
               "take it from another mirror, or upload it again"};
}

class RemoteSource final : public ByteSource {
 public:
  RemoteSource(std::shared_ptr<ContentServer> server, RemoteBundle bundle)
      : server_(std::move(server)),
        bundle_(std::move(bundle)),
        place_(server_->name() + "@sha256:" + bundle_.manifest.to_hex()) {}

  Result<Bytes> read_root() const override { return bundle_.root; }
  Result<Bytes> read(std::uint64_t offset, std::uint64_t count) const override {
    return read_part({offset, count});
  }
  Result<Bytes> read_part(const BytePart& part) const override {
    const std::uint64_t root = bundle_.root.size();
    const std::uint64_t end = root + bundle_.pack.size;
    const std::uint64_t offset = std::min(part.offset, end);
    const std::uint64_t count = std::min(part.count, end - offset);
    // Everything that a digest verifies is stored behind the root.
    if (offset >= root && count == part.count)
      return server_->read_blob_part(bundle_.pack, {offset - root, count, part.digest, part.shared});
    Bytes bytes;
    if (offset < root) {
      const ByteView rest = ByteView(bundle_.root).subspan(static_cast<std::size_t>(offset));
      bytes.assign(rest.begin(),
                   rest.begin() + static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(count, rest.size())));
    }
    const std::uint64_t missing = count - bytes.size();
    if (missing == 0) return bytes;
    CUBINET_TRY_ASSIGN(const Bytes rest,
                       server_->read_blob_part(bundle_.pack, {offset + bytes.size() - root, missing}));
    bytes.insert(bytes.end(), rest.begin(), rest.end());
    return bytes;
  }
  Result<void> expect(const std::vector<BytePart>& parts) const override {
    std::vector<BytePart> of_pack = parts;
    for (BytePart& part : of_pack)
      part.offset -= bundle_.root.size();
    return server_->expect_parts(bundle_.pack, of_pack);
  }
  const std::string& place() const override { return place_; }

 private:
  const std::shared_ptr<ContentServer> server_;
  const RemoteBundle bundle_;
  const std::string place_;
};

}  // namespace

SignatureSource signatures_of(const RemoteBundle& bundle) {
  return [signatures = bundle.signatures](const std::string& key_id) -> Result<std::optional<Bytes>> {
    for (const BundleSignature& signature : signatures) {
      if (signature.key_id == key_id) return std::optional(signature.content);
    }
    return std::optional<Bytes>();
  };
}

std::shared_ptr<const ByteSource> remote_source(std::shared_ptr<ContentServer> server, RemoteBundle bundle) {
  return std::make_shared<const RemoteSource>(std::move(server), std::move(bundle));
}

Result<Sha256Digest> push_bundle(ContentServer& server, const std::shared_ptr<FileSystem>& files,
                                 const BundleUpload& bundle, const std::string& channel) {
  CUBINET_TRY_ASSIGN(const auto status, files->status(bundle.file));
  if (!status) return Error{ErrorCode::not_found, "there is no bundle '" + bundle.file.string() + "'"};
  if (bundle.root_bytes == 0 || bundle.root_bytes > kMaximumRootBytes || bundle.root_bytes > status->size)
    return Error{ErrorCode::invalid_argument, "'" + bundle.file.string() +
                                                  "' does not begin with a root of " +
                                                  std::to_string(bundle.root_bytes) + " bytes"};
  const std::string name = bundle.file.filename().string();
  Manifest manifest{std::string(kBundleArtifactType), {}, bundle.annotations};
  FileSource root(files, bundle.file, bundle.root_bytes);
  FileSource pack(files, bundle.file, status->size - bundle.root_bytes, bundle.root_bytes);
  CUBINET_TRY_ASSIGN(auto root_layer, push_layer(server, root, kBundleRootType, name + ".root"));
  CUBINET_TRY_ASSIGN(auto pack_layer, push_layer(server, pack, kBundlePackType, name + ".pack"));
  manifest.layers = {std::move(root_layer), std::move(pack_layer)};
  for (const BundleSignature& signature : bundle.signatures) {
    if (!is_key_id(signature.key_id))
      return Error{ErrorCode::invalid_argument,
                   "'" + printable(signature.key_id, kQuotedBytes) + "' is no id of a key"};
    MemorySource content(signature.content);
    CUBINET_TRY_ASSIGN(auto layer, push_layer(server, content, kBundleSignatureType,
                                              signature_path(name, signature.key_id).string()));
    manifest.layers.push_back(std::move(layer));
  }
  MemorySource configuration(empty_configuration());
  CUBINET_TRY(server.write_blob(describe_blob(empty_configuration()), configuration));
  CUBINET_TRY_ASSIGN(const Sha256Digest digest, server.write_manifest(as_bytes(to_json(manifest))));
  if (!channel.empty()) CUBINET_TRY(server.write_channel(channel, digest));
  return digest;
}

Result<Sha256Digest> resolve_channel(ContentServer& server, const std::string& channel) {
  CUBINET_TRY_ASSIGN(const auto digest, server.read_channel(channel));
  if (digest) return *digest;
  return Error{ErrorCode::not_found, server.name() + " has no channel '" + channel + "'"};
}

Result<RemoteBundle> read_remote_bundle(ContentServer& server, const Sha256Digest& digest) {
  const std::string where = "sha256:" + digest.to_hex() + " of " + server.name();
  CUBINET_TRY_ASSIGN(const Bytes json, server.read_manifest(digest));
  CUBINET_TRY_ASSIGN(const Manifest manifest, parse_manifest(as_text(json), where));
  const auto refused = [&](const std::string& reason) {
    return Error{ErrorCode::corruption, where + " is no bundle: " + reason, "is it the right address?"};
  };
  if (manifest.artifact_type != kBundleArtifactType)
    return refused("its type is '" + printable(manifest.artifact_type, kQuotedBytes) + "'");
  RemoteBundle bundle;
  bundle.manifest = digest;
  std::vector<const Manifest::Layer*> roots, packs;
  for (const Manifest::Layer& layer : manifest.layers) {
    if (layer.media_type == kBundleRootType) roots.push_back(&layer);
    if (layer.media_type == kBundlePackType) packs.push_back(&layer);
  }
  if (roots.size() != 1 || packs.size() != 1) return refused("it has not one root and one pack");
  // Check the size before allocating memory.
  if (roots[0]->blob.size > kMaximumRootBytes) return refused("its root has more than 64 KiB");
  bundle.pack = packs[0]->blob;
  CUBINET_TRY_ASSIGN(bundle.root, server.read_blob(roots[0]->blob));
  for (const Manifest::Layer& layer : manifest.layers) {
    if (layer.media_type != kBundleSignatureType) continue;
    const auto key_id = key_id_of_title(layer.title);
    if (!key_id || layer.blob.size > kMaximumSignatureBytes || bundle.signatures.size() == kMaximumSignatures)
      return refused("a signature names no key, has more than 12 KiB, or is one of more than 64");
    CUBINET_TRY_ASSIGN(Bytes content, server.read_blob(layer.blob));
    bundle.signatures.push_back({*key_id, std::move(content)});
  }
  return bundle;
}

Result<void> copy_bundle(ContentServer& from, const RemoteBundle& bundle, const BundleRoot& root,
                         ContentServer& to, const std::string& channel) {
  CUBINET_TRY(check_pack_size(from, bundle, root));
  CUBINET_TRY_ASSIGN(const Bytes json, from.read_manifest(bundle.manifest));
  const std::string where = "sha256:" + bundle.manifest.to_hex() + " of " + from.name();
  CUBINET_TRY_ASSIGN(const Manifest manifest, parse_manifest(as_text(json), where));
  for (const Manifest::Layer& layer : manifest.layers) {
    if (layer.media_type != kBundleRootType && layer.media_type != kBundlePackType &&
        layer.media_type != kBundleSignatureType)
      return Error{ErrorCode::corruption, where + " is no bundle: a layer is of the type '" +
                                              printable(layer.media_type, kQuotedBytes) + "'"};
  }
  for (const Manifest::Layer& layer : manifest.layers)
    CUBINET_TRY(pass_blob(from, layer.blob, to));
  MemorySource configuration(empty_configuration());
  CUBINET_TRY(to.write_blob(describe_blob(empty_configuration()), configuration));
  CUBINET_TRY(to.write_manifest(json));
  if (!channel.empty()) CUBINET_TRY(to.write_channel(channel, bundle.manifest));
  return {};
}

Result<void> pull_bundle(ContentServer& server, const RemoteBundle& bundle, const BundleRoot& root,
                         FileSystem& files, const std::filesystem::path& path, const FileCheck& check) {
  CUBINET_TRY(check_pack_size(server, bundle, root));
  TemporaryFileSink file(files, temporary_path_beside(path));
  PackSink sink(file, bundle.root);
  CUBINET_TRY(sink.restart());
  CUBINET_TRY(ChunkFolder(files, path, bundle.pack).read(server, sink));
  CUBINET_TRY(file.close());
  if (check) CUBINET_TRY(check(file.path()));
  // The signatures are written before the bundle, because a policy may refuse a bundle without
  // them.
  for (const BundleSignature& signature : bundle.signatures)
    CUBINET_TRY(write_file_atomically(files, signature_path(path, signature.key_id), signature.content));
  return file.keep(path);
}

}  // namespace cubinet
