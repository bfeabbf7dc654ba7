// SPDX-License-Identifier: Apache-2.0
#include "local/local_journal.hpp"

#include <cubinet/base/file_lock.hpp>

#include <xxhash.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <thread>

namespace cubinet {
namespace {

constexpr std::string_view kJournalVersion = "1";
// Longer files come from another program. They are not read.
constexpr std::uint64_t kReadableBytes = 16 * HomeJournal::kMaximumBytes;
// The end of the year 9999, in UTC. Arithmetic with times up to it does not overflow.
constexpr std::chrono::milliseconds kLatestTime{253402300799999};
constexpr int kLockAttempts = 200;
constexpr std::chrono::milliseconds kLockPause{1};

std::string journal_checksum(std::string_view content) {
  constexpr std::string_view kHexDigits = "0123456789abcdef";
  std::uint64_t value = XXH3_64bits(content.data(), content.size());
  std::string text(16, '0');
  for (std::size_t i = text.size(); i-- > 0; value >>= 4U)
    text[i] = kHexDigits[value & 15U];
  return text;
}

// Removes the part before the next space from `rest` and returns it.
std::string_view take_word(std::string_view& rest) {
  const std::size_t space = std::min(rest.find(' '), rest.size());
  const std::string_view word = rest.substr(0, space);
  rest.remove_prefix(std::min(space + 1, rest.size()));
  return word;
}

bool is_version(std::string_view word) {
  return !word.empty() && word.size() <= 4 &&
         std::all_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::optional<JournalLine> line_of(std::string_view content) {
  std::string_view text = content;
  const std::string_view digits = take_word(text);
  std::int64_t since_epoch = 0;
  const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), since_epoch);
  if (failure != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  if (since_epoch < 0 || since_epoch > kLatestTime.count()) return std::nullopt;
  return JournalLine{std::chrono::sys_time<std::chrono::milliseconds>(std::chrono::milliseconds(since_epoch)),
                     std::string(text)};
}

void add_line(std::string_view bytes, JournalLines& lines) {
  const std::string_view version = take_word(bytes);
  const std::string_view checksum = take_word(bytes);
  // The checksum of every version is that of the rest of the line.
  const bool intact = checksum == journal_checksum(bytes);
  if (intact && version == kJournalVersion) {
    if (auto line = line_of(bytes)) return lines.lines.push_back(*std::move(line));
  }
  ++(intact && is_version(version) && version != kJournalVersion ? lines.newer : lines.damaged);
}

// Calls visit() with each line, without its newline, in the order of the file.
template <class Visit>
void for_each_line(std::string_view bytes, const Visit& visit) {
  while (!bytes.empty()) {
    const std::size_t end = std::min(bytes.find('\n'), bytes.size());
    if (end > 0) visit(bytes.substr(0, end));
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
  }
}

// Returns whether a line is intact and not too old. A newer version's line has no known time.
bool is_worth_keeping(std::string_view line, std::chrono::system_clock::time_point now) {
  JournalLines read;
  add_line(line, read);
  return read.newer > 0 || (!read.lines.empty() && read.lines.front().time + HomeJournal::kMaximumAge >= now);
}

}  // namespace

// A newline precedes the line too, so that a line that was cut short before costs no other.
std::string encode_journal_line(const JournalLine& line) {
  const std::string content = std::to_string(line.time.time_since_epoch().count()) + " " + line.text;
  return "\n" + std::string(kJournalVersion) + " " + journal_checksum(content) + " " + content + "\n";
}

JournalLines decode_journal(std::string_view bytes) {
  JournalLines lines;
  for_each_line(bytes, [&](std::string_view line) { add_line(line, lines); });
  std::stable_sort(lines.lines.begin(), lines.lines.end(),
                   [](const JournalLine& a, const JournalLine& b) { return a.time < b.time; });
  return lines;
}

Result<std::string> LocalJournal::content() const {
  const auto file = store_.files().read_own(store_.home().journal(), kReadableBytes);
  if (!file && file.error().code == ErrorCode::not_found) return std::string();
  if (!file) return file.error();
  return std::string(reinterpret_cast<const char*>(file->content.data()), file->content.size());
}

Result<void> LocalJournal::add(std::string_view text) {
  CUBINET_TRY(access_.check_process());
  CUBINET_TRY(access_.check_writable());
  if (text.size() > kMaximumLineBytes || text.find('\n') != std::string_view::npos)
    return Error{ErrorCode::invalid_argument, "a line of the journal is too long or has a newline"};
  const JournalLine line{std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now()),
                         std::string(text)};
  const std::string encoded = encode_journal_line(line);
  auto lock = store_.files().lock(store_.home().journal_lock(), FileSystem::Sharing::shared);
  for (int attempt = 0; attempt < kLockAttempts && lock && *lock == nullptr; ++attempt) {
    std::this_thread::sleep_for(kLockPause);
    lock = store_.files().lock(store_.home().journal_lock(), FileSystem::Sharing::shared);
  }
  if (!lock && !knows_no_locks(lock.error())) return lock.error();
  if (lock && *lock == nullptr)
    return Error{ErrorCode::unavailable, "another process shortens the journal, so a line is lost"};
  CUBINET_TRY(store_.files().append(
      store_.home().journal(), ByteView(reinterpret_cast<const std::byte*>(encoded.data()), encoded.size())));
  if (lock) lock->reset();
  CUBINET_TRY_ASSIGN(const auto status, store_.files().status(store_.home().journal()));
  return status && status->size > kMaximumBytes ? shorten() : Result<void>();
}

Result<JournalLines> LocalJournal::read() {
  CUBINET_TRY(access_.check_process());
  CUBINET_TRY_ASSIGN(const std::string bytes, content());
  return decode_journal(bytes);
}

Result<void> LocalJournal::shorten() {
  CUBINET_TRY_ASSIGN(const auto status, store_.files().status(store_.home().journal()));
  if (!status) return {};
  const auto alone = store_.files().lock(store_.home().journal_lock(), FileSystem::Sharing::exclusive);
  if (!alone && !knows_no_locks(alone.error())) return alone.error();
  if (alone && *alone == nullptr) return {};
  std::string bytes;  // empty for a file that another program has filled
  if (status->size <= kReadableBytes) {
    CUBINET_TRY_ASSIGN(bytes, content());
  }
  const auto now = std::chrono::system_clock::now();
  std::vector<std::string> lines;  // as they are in the file
  for_each_line(bytes, [&](std::string_view line) {
    if (is_worth_keeping(line, now)) lines.push_back("\n" + std::string(line) + "\n");
  });
  const std::size_t limit = status->size <= kMaximumBytes ? kMaximumBytes : kMaximumBytes / 2;
  std::size_t size = 0;
  auto first = lines.end();
  while (first != lines.begin() && size + std::prev(first)->size() <= limit)
    size += (--first)->size();
  std::string kept;
  for (; first != lines.end(); ++first)
    kept += *first;
  if (kept == bytes && status->size == bytes.size()) return {};
  return write_file_atomically(store_.files(), store_.home().journal(),
                               ByteView(reinterpret_cast<const std::byte*>(kept.data()), kept.size()));
}

}  // namespace cubinet
