// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/cubin_registry/byte_source.hpp>
#include <cubinet/distribution/content_server.hpp>
#include <cubinet/distribution/manifest.hpp>

#include <map>
#include <vector>

namespace cubinet {

// The media types of a bundle on a server: its root, its pack and its signatures are blobs, and a
// manifest names them. In a file, the pack follows the root; the signature of a key is stored
// beside it as FILE.<key id>.minisig.
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
  std::uint64_t root_bytes = 0;  // bytes of the root, at the beginning of the file
  std::vector<BundleSignature> signatures = {};
  std::map<std::string, std::string> annotations = {};
};

// Uploads the blobs, then the manifest, then the channel that names it (empty: none). Concurrent
// readers see the previous bundle or the whole new one. Existing content is not sent. Returns the
// manifest's digest.
Result<Sha256Digest> push_bundle(ContentServer& server, const std::shared_ptr<FileSystem>& files,
                                 const BundleUpload& bundle, const std::string& channel);

// A bundle on a server. Its root and signatures have been fetched, its pack has not.
struct RemoteBundle {
  Sha256Digest manifest;
  Bytes root;
  std::vector<BundleSignature> signatures;
  BlobDescriptor pack;
};

// Return not_found for a missing channel, corruption if the manifest is not a bundle's.
Result<Sha256Digest> resolve_channel(ContentServer& server, const std::string& channel);
Result<RemoteBundle> read_remote_bundle(ContentServer& server, const Sha256Digest& manifest);

// Returns the source of the signatures that were fetched with the bundle.
SignatureSource signatures_of(const RemoteBundle& bundle);

// Returns the bundle's bytes: the fetched root, and parts of the pack that are fetched on demand.
// open_bundle on it gives a bundle whose pages and images are fetched and verified when they are
// needed.
std::shared_ptr<const ByteSource> remote_source(std::shared_ptr<ContentServer> server, RemoteBundle bundle);

// Copies a bundle to another server: the manifest with everything it names, and the channel there
// that names it (empty: none). Writes in push_bundle's order and skips existing content. The last
// byte of each blob is sent only if the whole blob has its digest, so that a wrong blob is never
// stored. `root` comes from the opened bundle. Returns an error (corruption) if the manifest names
// a pack of another size than the root states, or a layer that is not part of a bundle.
Result<void> copy_bundle(ContentServer& from, const RemoteBundle& bundle, const BundleRoot& root,
                         ContentServer& to, const std::string& channel);

// Checks a file before it gets its name.
using FileCheck = Callback<Result<void>(const std::filesystem::path& file)>;

// Writes the whole bundle to `path`, and its signatures beside it. `root` comes from the opened
// bundle, whose policy was applied before; only digests are verified here. Returns an error
// (corruption) before fetching the pack if the manifest names a pack of another size. If the pull
// of a large bundle is killed or loses its connection, its chunks stay in `.<name>.<digest>.parts`
// beside `path`, and the next pull continues there.
Result<void> pull_bundle(ContentServer& server, const RemoteBundle& bundle, const BundleRoot& root,
                         FileSystem& files, const std::filesystem::path& path, const FileCheck& check = {});

}  // namespace cubinet
