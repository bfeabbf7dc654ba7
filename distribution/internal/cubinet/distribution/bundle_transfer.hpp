// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/cubin_registry/byte_source.hpp>
#include <cubinet/distribution/content_server.hpp>
#include <cubinet/distribution/manifest.hpp>

#include <map>
#include <vector>

namespace cubinet {

// A bundle on a server is its root, its pack and its signatures as blobs, and a manifest that names them. In
// a file root and pack follow each other; the signature of a key lies beside it as FILE.<key id>.minisig.
inline constexpr std::string_view kBundleArtifactType = "application/vnd.cubinet.bundle.v1";
inline constexpr std::string_view kBundleRootType = "application/vnd.cubinet.bundle.root.v1";
inline constexpr std::string_view kBundlePackType = "application/vnd.cubinet.bundle.pack.v1";
inline constexpr std::string_view kBundleSignatureType = "application/vnd.cubinet.bundle.signature.v1";

struct BundleSignature {
  std::string key_id;  // sixteen hexadecimal digits
  Bytes content;
};

struct BundleUpload {
  std::filesystem::path file;
  std::uint64_t root_bytes = 0;  // with which the file begins
  std::vector<BundleSignature> signatures = {};
  std::map<std::string, std::string> annotations = {};
};

// Blobs first, then the manifest, then the channel that is to name it (empty: none does): whoever reads
// meanwhile sees the bundle of before, or all of this one. What is there already is not sent. The digest is
// the manifest's.
Result<Sha256Digest> push_bundle(ContentServer& server, const std::shared_ptr<FileSystem>& files,
                                 const BundleUpload& bundle, const std::string& channel);

// What a manifest says of a bundle, whose root and signatures are here and whose pack is not yet.
struct RemoteBundle {
  Sha256Digest manifest;
  Bytes root;
  std::vector<BundleSignature> signatures;
  BlobDescriptor pack;
};

// not_found for a channel that is not there; corruption for what is no bundle.
Result<Sha256Digest> resolve_channel(ContentServer& server, const std::string& channel);
Result<RemoteBundle> read_remote_bundle(ContentServer& server, const Sha256Digest& manifest);

// Who is asked for the signatures that travelled with it.
SignatureSource signatures_of(const RemoteBundle& bundle);

// Its bytes where they lie: the root is here already, and of the pack the parts that are asked for travel.
// With open_bundle, a bundle whose pages and images are each fetched, and checked, when they are wanted.
std::shared_ptr<const ByteSource> remote_source(std::shared_ptr<ContentServer> server, RemoteBundle bundle);

// Copies a bundle to another server: the same manifest with all that it names, and the channel there that
// names it (empty: none). Writes in push_bundle's order, and asks for nothing that is there already. The last
// byte of each blob is sent only if the whole blob has its digest, so that a wrong one never becomes a blob
// of the other server. `root` is what the opened bundle states. corruption if the manifest names a pack of
// another size than the root states, or a layer that is no part of a bundle.
Result<void> copy_bundle(ContentServer& from, const RemoteBundle& bundle, const BundleRoot& root,
                         ContentServer& to, const std::string& channel);

// Writes the whole bundle to `path`, with its signatures beside it. `root` is what the opened bundle states:
// a policy judges that before. Only digests are compared here. corruption, before any byte of the pack
// travels, if the manifest names a pack of another size. A large bundle leaves its pieces in
// `.<name>.<digest>.parts` beside `path` if the pull is killed or loses its connection, and the next one
// continues there.
Result<void> pull_bundle(ContentServer& server, const RemoteBundle& bundle, const BundleRoot& root,
                         FileSystem& files, const std::filesystem::path& path);

}  // namespace cubinet
