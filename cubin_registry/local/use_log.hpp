// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "local/home_access.hpp"

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <vector>

namespace cubinet {

// One entry of the log: the number of uses, and the last one.
struct UseMark {
  Sha256Digest subject;  // an image, or one of the subjects below
  std::uint32_t count = 0;
  std::uint32_t minute = 0;  // since the epoch
};

// Subjects that are not images.
inline constexpr Sha256Digest kAskedSubject{};
inline constexpr Sha256Digest kFoundSubject{{std::byte{1}}};
inline constexpr Sha256Digest kGoneSubject{{std::byte{2}}};  // uses of images that the home no longer has

// Encode and decode marks. Each mark has its own checksum; torn marks and marks of another version
// are skipped.
Bytes encode_marks(std::span<const UseMark> marks);
std::vector<UseMark> decode_marks(ByteView bytes);

struct RecordedUses {
  StoreUses total;
  std::map<Sha256Digest, std::int64_t> last;  // last use of images, in seconds since the epoch
};

// A best-effort log of the uses of a home, for eviction. The use of an image is recorded at most
// once an hour, in batches, after the request. A killed process loses its unrecorded uses. Failures
// are ignored, and no request fails for them. Thread-safe.
class UseLog {
 public:
  // The number of images of a batch. A smaller batch is written if one has waited for a minute or
  // two.
  static constexpr std::size_t kBatch = 64;

  UseLog(FileStore& store, const HomeAccess& access) : store_(store), access_(access) {}
  ~UseLog();
  UseLog(const UseLog&) = delete;
  UseLog& operator=(const UseLog&) = delete;

  // Counts a lookup of a kernel. Writes nothing.
  void asked(bool found);
  void used(const Sha256Digest& image);
  // Writes the unrecorded counts, and compacts the file if that is due. Not for use in a request.
  void flush();

  // Returns the uses that all processes recorded, and this process's unrecorded ones.
  Result<RecordedUses> read();
  // Combines the marks of each subject, and those of all images that are not in `there`. Does
  // nothing while another process does it. REQUIRES: the home can be written.
  Result<void> compact(const std::set<Sha256Digest>* there);

 private:
  struct Noted {
    std::uint32_t minute = 0;   // minute of the last mark
    std::uint32_t pending = 0;  // uses since the last mark
    bool waits = false;         // true if it waits for a batch
  };
  static std::uint32_t current_minute();
  static bool is_fresh(const Noted& noted, std::uint32_t now);
  void note(const Sha256Digest& image);
  // REQUIRES, here and below: the mutex is held.
  void recall();
  void write_waiting(std::uint32_t now);
  std::vector<UseMark> take_counts(std::uint32_t minute);
  void write(std::span<const UseMark> marks);

  FileStore& store_;
  const HomeAccess& access_;
  std::atomic<std::uint32_t> asked_{0};
  std::atomic<std::uint32_t> found_{0};
  std::mutex mutex_;
  std::size_t waiting_ = 0;          // waiting entries of noted_
  std::uint32_t waiting_since_ = 0;  // minute of the first of them
  bool recalled_ = false;
  bool long_ = false;  // true if the file is long for its content
  std::map<Sha256Digest, Noted> noted_;
};

}  // namespace cubinet
