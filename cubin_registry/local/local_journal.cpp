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

}  // namespace

// A newline precedes the line too, so that a line that was cut short before costs no other.
std::string encode_journal_line(const JournalLine& line) {
  const std::string content = std::to_string(line.time.time_since_epoch().count()) + " " + line.text;
  return "\n" + std::string(kJournalVersion) + " " + journal_checksum(content) + " " + content + "\n";
}

JournalLines decode_journal(std::string_view bytes) {
  JournalLines lines;
  while (!bytes.empty()) {
    const std::size_t end = std::min(bytes.find('\n'), bytes.size());
    if (end > 0) add_line(bytes.substr(0, end), lines);
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
  }
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
  const auto bytes = content();
  JournalLines lines = bytes ? decode_journal(*bytes) : JournalLines();
  const auto now = std::chrono::system_clock::now();
  std::erase_if(lines.lines, [&](const JournalLine& line) { return line.time + kMaximumAge < now; });
  const std::size_t limit = bytes && bytes->size() <= kMaximumBytes ? kMaximumBytes : kMaximumBytes / 2;
  std::vector<std::string> encoded;  // newest first
  std::size_t size = 0;
  for (auto line = lines.lines.rbegin(); line != lines.lines.rend(); ++line) {
    encoded.push_back(encode_journal_line(*line));
    size += encoded.back().size();
    if (size > limit) {
      encoded.pop_back();
      break;
    }
  }
  std::string kept;
  for (auto line = encoded.rbegin(); line != encoded.rend(); ++line)
    kept += *line;
  if (bytes && kept == *bytes) return {};
  return write_file_atomically(store_.files(), store_.home().journal(),
                               ByteView(reinterpret_cast<const std::byte*>(kept.data()), kept.size()));
}

}  // namespace cubinet
