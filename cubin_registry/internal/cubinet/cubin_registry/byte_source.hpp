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

// Of a bundle, wherever it lies: no larger root is read or taken from a server.
inline constexpr std::uint64_t kMaximumRootBytes = std::uint64_t{64} << 10;
// It seldom has more.
inline constexpr std::uint64_t kUsualRootBytes = std::uint64_t{8} << 10;

// A part of the bytes that lie somewhere: of a bundle a page, the dictionary, a frame.
struct BytePart {
  std::uint64_t offset = 0;
  std::uint64_t count = 0;
  std::optional<Sha256Digest> digest = {};  // of its bytes, where something leads to it by that
  bool shared = true;  // it leads to several kernels, or holds several: who wants one will want it again
};

// Bytes that lie somewhere and are read in parts: a file, or what a server has. Nothing that it says is
// believed before it was hashed. Thread-safe.
class ByteSource {
 public:
  virtual ~ByteSource() = default;

  // What a bundle begins with: its root where it is known how long that is, else as much as it usually has.
  virtual Result<Bytes> read_root() const { return read(0, kUsualRootBytes); }
  // `count` bytes from `offset` on, fewer where they end before.
  virtual Result<Bytes> read(std::uint64_t offset, std::uint64_t count) const = 0;
  // A part whose digest is known: whoever asks compares it all the same.
  virtual Result<Bytes> read_part(const BytePart& part) const { return read(part.offset, part.count); }
  // These are about to be read: where each would cost a request of its own they may be fetched together.
  virtual Result<void> expect(const std::vector<BytePart>& /*parts*/) const { return {}; }
  virtual const std::string& place() const = 0;  // for people
};

// A file, by its path at each read: it may be replaced at any time, and no descriptor stays open.
std::shared_ptr<const ByteSource> file_source(const std::string& path, std::shared_ptr<FileSystem> files);

// Whose word counts for a bundle, and where that lies.
struct BundleTrust {
  std::optional<TrustPolicy> policy;
  SignatureSource signatures;
  Expiry expiry = Expiry::reported;
  std::shared_ptr<FileSystem> files;  // for the versions seen; nullptr: the operating system's
  bool remembers = true;              // that its version was seen
};

// Bundle::open wherever the bytes lie: reads at most 64 KiB.
Result<std::shared_ptr<Bundle>> open_bundle(std::shared_ptr<const ByteSource> source, LogSink log,
                                            BundleTrust trust = {});

// The parts that hold the images of these records, each once.
Result<std::vector<BytePart>> frames_of(const Bundle& bundle, const CubinRecords& records);

}  // namespace cubinet
