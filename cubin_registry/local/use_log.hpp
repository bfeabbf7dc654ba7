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

// One line of the log: how often something was wanted, and when last.
struct UseMark {
  Sha256Digest subject;  // an image, or one of those below
  std::uint32_t count = 0;
  std::uint32_t minute = 0;  // since the epoch
};

// No image has these digests.
inline constexpr Sha256Digest kAskedSubject{};
inline constexpr Sha256Digest kFoundSubject{{std::byte{1}}};
inline constexpr Sha256Digest kGoneSubject{{std::byte{2}}};  // uses of images that the home no longer has

// Each mark is checked alone: what is torn or of another version is passed over.
Bytes encode_marks(std::span<const UseMark> marks);
std::vector<UseMark> decode_marks(ByteView bytes);

struct RecordedUses {
  StoreUses total;
  std::map<Sha256Digest, std::int64_t> last;  // of images, in seconds since the epoch
};

// Who asked a home for what, as far as that helps those who tidy it. A memory that promises nothing: an image
// is noted when it is taken and then at most once an hour, many at a time, behind the requests; a process
// that is killed takes with it what it had not noted yet. Whatever cannot be noted is left out, and no
// request fails for it. Thread-safe.
class UseLog {
 public:
  // So many images wait for each other, and less where one has waited for a minute or two.
  static constexpr std::size_t kBatch = 64;

  UseLog(FileStore& store, const HomeAccess& access) : store_(store), access_(access) {}
  ~UseLog();
  UseLog(const UseLog&) = delete;
  UseLog& operator=(const UseLog&) = delete;

  // A kernel was looked up. Writes nothing by itself.
  void asked(bool found);
  void used(const Sha256Digest& image);
  // Writes what was counted and not noted yet. Not for a request: it makes the file shorter too where that is
  // due.
  void flush();

  // What all processes noted, and what this one has yet to.
  Result<RecordedUses> read();
  // Brings the marks of one subject together, and those of all images that are not in `there`. Nothing is
  // done while somebody else does. REQUIRES: the home can be written.
  Result<void> compact(const std::set<Sha256Digest>* there);

 private:
  struct Noted {
    std::uint32_t minute = 0;   // of the last mark
    std::uint32_t pending = 0;  // uses since
    bool waits = false;         // to be noted with others
  };
  static std::uint32_t current_minute();
  static bool is_fresh(const Noted& noted, std::uint32_t now);
  void note(const Sha256Digest& image);
  // REQUIRES: the mutex, here and below.
  void recall();
  void write_waiting(std::uint32_t now);
  std::vector<UseMark> take_counts(std::uint32_t minute);
  void write(std::span<const UseMark> marks);

  FileStore& store_;
  const HomeAccess& access_;
  std::atomic<std::uint32_t> asked_{0};
  std::atomic<std::uint32_t> found_{0};
  std::mutex mutex_;
  std::size_t waiting_ = 0;          // of those below
  std::uint32_t waiting_since_ = 0;  // the first of them
  bool recalled_ = false;
  bool long_ = false;  // the file, for what it says
  std::map<Sha256Digest, Noted> noted_;
};

}  // namespace cubinet
