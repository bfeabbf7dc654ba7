// SPDX-License-Identifier: Apache-2.0
#include "local/use_log.hpp"

#include <cubinet/base/byte_stream.hpp>
#include <cubinet/base/file_lock.hpp>

#include <xxhash.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <new>

namespace cubinet {
namespace {

// The seed of each mark's checksum, so that marks of another version are skipped.
constexpr std::uint64_t kUseLogVersion = 1;
constexpr std::size_t kCoveredBytes = 40;
constexpr std::size_t kMarkBytes = 48;
constexpr std::uint32_t kHour = 60;  // minutes
constexpr std::uint64_t kMaximumLogBytes = std::uint64_t{1} << 30;
// The part that a request reads: four marks for each of all published cubins.
constexpr std::uint64_t kRecalledBytes = std::uint64_t{4} << 20;
// A log is compacted if it exceeds this and four marks per subject.
constexpr std::uint64_t kShortBytes = std::uint64_t{64} << 10;
constexpr std::uint64_t kMarksOfOne = 4;

std::uint64_t checksum_of(ByteView covered) {
  return XXH3_64bits_withSeed(covered.data(), covered.size(), kUseLogVersion);
}

// The minutes that a use may wait for a batch while there are requests.
constexpr std::uint32_t kPatience = 1;

bool is_count(const Sha256Digest& subject) {
  return subject == kAskedSubject || subject == kFoundSubject || subject == kGoneSubject;
}

void add(RecordedUses& uses, const UseMark& mark) {
  if (mark.subject == kAskedSubject) {
    uses.total.asked += mark.count;
  } else if (mark.subject == kFoundSubject) {
    uses.total.found += mark.count;
  } else {
    uses.total.used += mark.count;
    if (mark.subject == kGoneSubject) return;
    auto& last = uses.last[mark.subject];
    last = std::max(last, std::int64_t{mark.minute} * 60);
  }
}

}  // namespace

Bytes encode_marks(std::span<const UseMark> marks) {
  ByteWriter writer;
  writer.reserve(marks.size() * kMarkBytes);
  for (const UseMark& mark : marks) {
    writer.raw(mark.subject.bytes);
    writer.u32(mark.count);
    writer.u32(mark.minute);
    writer.u64(checksum_of(writer.bytes().last(kCoveredBytes)));
  }
  return writer.take();
}

std::vector<UseMark> decode_marks(ByteView bytes) {
  std::vector<UseMark> marks;
  marks.reserve(bytes.size() / kMarkBytes);
  while (bytes.size() >= kMarkBytes) {
    ByteReader reader(bytes.first(kMarkBytes));
    UseMark mark;
    const ByteView subject = *reader.raw(mark.subject.bytes.size());
    std::copy(subject.begin(), subject.end(), mark.subject.bytes.begin());
    mark.count = *reader.u32();
    mark.minute = *reader.u32();
    if (*reader.u64() != checksum_of(bytes.first(kCoveredBytes))) {
      bytes = bytes.subspan(1);  // an interrupted write: the next mark may begin at any byte
      continue;
    }
    marks.push_back(mark);
    bytes = bytes.subspan(kMarkBytes);
  }
  return marks;
}

// A mark in the future was written with a wrong clock.
bool UseLog::is_fresh(const Noted& noted, std::uint32_t now) {
  return noted.minute <= now && now - noted.minute < kHour;
}

std::uint32_t UseLog::current_minute() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto minutes = std::chrono::duration_cast<std::chrono::minutes>(now).count();
  return static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(minutes, 0, std::numeric_limits<std::uint32_t>::max()));
}

UseLog::~UseLog() {
  if (!access_.in_original_process()) return;
  try {
    flush();
  } catch (const std::bad_alloc&) {
    // The counts are lost if the process has no memory left.
  }
}

void UseLog::asked(bool found) {
  if (!access_.writable()) return;
  asked_.fetch_add(1, std::memory_order_relaxed);
  if (found) found_.fetch_add(1, std::memory_order_relaxed);
}

// Uses that others recorded within the hour need not be recorded again.
void UseLog::recall() {
  if (std::exchange(recalled_, true)) return;
  const auto file = store_.files().read_own(store_.home().uses(), kRecalledBytes);
  long_ = !file && file.error().code == ErrorCode::io;
  if (!file) return;
  for (const UseMark& mark : decode_marks(file->content)) {
    if (is_count(mark.subject)) continue;
    Noted& noted = noted_[mark.subject];
    noted.minute = std::max(noted.minute, mark.minute);
  }
  const std::uint64_t bytes = file->content.size();
  long_ = bytes > kShortBytes && bytes > kMarksOfOne * kMarkBytes * noted_.size();
}

void UseLog::used(const Sha256Digest& image) {
  if (!access_.writable()) return;
  try {
    note(image);
  } catch (const std::bad_alloc&) {
    // Only the mark is lost, not the hit.
  }
}

// Reading and writing the file takes longer than loading a small kernel. A request does it only if
// it completes a batch, or comes long after the first use of a batch.
void UseLog::note(const Sha256Digest& image) {
  const std::uint32_t now = current_minute();
  const std::lock_guard lock(mutex_);
  Noted& noted = noted_[image];
  ++noted.pending;
  if (noted.waits || is_fresh(noted, now)) return;
  noted.waits = true;
  if (waiting_++ == 0) waiting_since_ = now;
  if (waiting_ >= kBatch || waiting_since_ > now || now - waiting_since_ > kPatience) write_waiting(now);
}

void UseLog::write_waiting(std::uint32_t now) {
  recall();
  std::vector<UseMark> marks;
  for (auto& [subject, noted] : noted_) {
    if (!std::exchange(noted.waits, false) || is_fresh(noted, now)) continue;
    marks.push_back({subject, std::exchange(noted.pending, 0), now});
    noted.minute = now;
  }
  waiting_ = 0;
  if (marks.empty()) return;
  const auto counts = take_counts(now);
  marks.insert(marks.end(), counts.begin(), counts.end());
  write(marks);
}

std::vector<UseMark> UseLog::take_counts(std::uint32_t minute) {
  std::vector<UseMark> marks;
  const auto take = [&](std::atomic<std::uint32_t>& count, const Sha256Digest& subject) {
    const std::uint32_t taken = count.exchange(0, std::memory_order_relaxed);
    if (taken > 0) marks.push_back({subject, taken, minute});
  };
  take(asked_, kAskedSubject);
  take(found_, kFoundSubject);
  return marks;
}

void UseLog::write(std::span<const UseMark> marks) {
  if (marks.empty()) return;
  const auto lock = store_.files().lock(store_.home().uses_lock(), FileSystem::Sharing::shared);
  // the file is being replaced, so an appended mark would be lost
  if (lock && *lock == nullptr) return;
  auto written = lock || knows_no_locks(lock.error())
                     ? store_.files().append(store_.home().uses(), encode_marks(marks))
                     : Result<void>(lock.error());
  if (!written) log(store_.log_sink(), LogLevel::debug, "uses are not noted: " + written.error().to_line());
}

void UseLog::flush() {
  if (!access_.writable()) return;
  const std::uint32_t now = current_minute();
  const std::lock_guard lock(mutex_);
  auto marks = take_counts(now);
  for (auto& [subject, noted] : noted_) {
    noted.waits = false;
    if (noted.pending == 0) continue;
    marks.push_back({subject, std::exchange(noted.pending, 0), now});
    noted.minute = now;
  }
  waiting_ = 0;
  if (marks.empty()) return;
  recall();
  write(marks);
  if (std::exchange(long_, false)) static_cast<void>(compact(nullptr));
}

Result<RecordedUses> UseLog::read() {
  RecordedUses uses;
  const auto file = store_.files().read_own(store_.home().uses(), kMaximumLogBytes);
  if (!file && file.error().code != ErrorCode::not_found) return file.error();
  if (file) {
    for (const UseMark& mark : decode_marks(file->content))
      add(uses, mark);
  }
  const std::uint32_t now = current_minute();
  const std::lock_guard lock(mutex_);
  uses.total.asked += asked_.load(std::memory_order_relaxed);
  uses.total.found += found_.load(std::memory_order_relaxed);
  for (const auto& [subject, noted] : noted_) {
    if (noted.pending > 0) add(uses, {subject, noted.pending, now});
  }
  return uses;
}

Result<void> UseLog::compact(const std::set<Sha256Digest>* there) {
  const auto path = store_.home().uses();
  CUBINET_TRY_ASSIGN(const auto status, store_.files().status(path));
  if (!status) return {};
  const auto alone = store_.files().lock(store_.home().uses_lock(), FileSystem::Sharing::exclusive);
  if (!alone || *alone == nullptr) return {};
  CUBINET_TRY_ASSIGN(const OwnFile file, store_.files().read_own(path, kMaximumLogBytes));
  std::map<Sha256Digest, UseMark> together;
  for (const UseMark& mark : decode_marks(file.content)) {
    const bool kept = there == nullptr || is_count(mark.subject) || there->count(mark.subject) != 0;
    const Sha256Digest subject = kept ? mark.subject : kGoneSubject;
    UseMark& sum = together[subject];
    const std::uint64_t count = std::uint64_t{sum.count} + mark.count;
    sum = {subject, static_cast<std::uint32_t>(std::min<std::uint64_t>(count, 0xFFFFFFFFU)),
           std::max(sum.minute, mark.minute)};
  }
  std::vector<UseMark> marks;
  for (const auto& [subject, mark] : together)
    marks.push_back(mark);
  const Bytes encoded = encode_marks(marks);
  if (encoded == file.content) return {};
  return write_file_atomically(store_.files(), path, encoded);
}

}  // namespace cubinet
