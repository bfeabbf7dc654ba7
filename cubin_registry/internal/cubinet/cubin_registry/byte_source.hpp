// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>
#include <cubinet/base/log.hpp>
#include <cubinet/base/result.hpp>
#include <cubinet/cubin_registry/bundle.hpp>
#include <cubinet/trust/verification.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cubinet {

// The limit of a bundle's root, on disk and on servers.
inline constexpr std::uint64_t kMaximumRootBytes = std::uint64_t{64} << 10;
// Most roots are smaller.
inline constexpr std::uint64_t kUsualRootBytes = std::uint64_t{8} << 10;

// A part of a byte source: a page, the dictionary or a frame of a bundle.
struct BytePart {
  std::uint64_t offset = 0;
  std::uint64_t count = 0;
  std::optional<Sha256Digest> digest = {};  // the digest of its bytes, if another part states it
  // If true, it leads to or holds several kernels, so it is likely to be needed again.
  bool shared = true;
};

// A source of bytes that are read in parts: a file, or a blob on a server. Its bytes are not
// trusted before they are hashed. Thread-safe.
class ByteSource {
 public:
  virtual ~ByteSource() = default;

  // Returns the beginning of a bundle: its root if its size is known, else the usual size of roots.
  virtual Result<Bytes> read_root() const { return read(0, kUsualRootBytes); }
  // Returns `count` bytes from `offset` on, fewer at the end.
  virtual Result<Bytes> read(std::uint64_t offset, std::uint64_t count) const = 0;
  // Reads a part with a known digest. The caller compares the digest.
  virtual Result<Bytes> read_part(const BytePart& part) const { return read(part.offset, part.count); }
  // Announces parts that are about to be read, so that separate requests can be combined.
  virtual Result<void> expect(const std::vector<BytePart>& /*parts*/) const { return {}; }
  virtual const std::string& place() const = 0;  // for messages
};

// Returns a file as a source. It is opened by path for each read, so it may be replaced at any time
// and no descriptor stays open. `place` replaces the path in messages.
std::shared_ptr<const ByteSource> file_source(const std::string& path, std::shared_ptr<FileSystem> files,
                                              std::string place = {});

// The trust policy of a bundle and its state.
struct BundleTrust {
  std::optional<TrustPolicy> policy;
  SignatureSource signatures;
  Expiry expiry = Expiry::reported;
  std::shared_ptr<FileSystem> files;  // stores the versions seen; nullptr: the operating system's
  bool remembers = true;              // if true, remembers the bundle's version
  // The channel that the root must state if the policy requires signatures: the same keys may have
  // signed bundles of other channels. nullopt: any.
  std::optional<std::string> channel = {};
  // The digest at the end of the root, which covers everything else of the bundle. A bundle with
  // another root is refused (untrusted) before the root is parsed. nullopt: any.
  std::optional<Sha256Digest> root = {};
};

// Does the same as Bundle::open for any source. Reads at most 64 KiB.
Result<std::shared_ptr<Bundle>> open_bundle(std::shared_ptr<const ByteSource> source, LogSink log,
                                            BundleTrust trust = {});

// Returns the parts that hold the images of these records, each once.
Result<std::vector<BytePart>> frames_of(const Bundle& bundle, const CubinRecords& records);

}  // namespace cubinet
