// SPDX-License-Identifier: Apache-2.0
#include "local/retention.hpp"

#include <cubinet/base/text.hpp>

#include <cerrno>
#include <charconv>

namespace cubinet {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaximumLimitBytes = 128;
// The home is counted again after this part of the remaining room was used.
constexpr std::uint64_t kPartOfRoom = 4;
constexpr std::chrono::seconds kCountedFor{60};
// The pause after an attempt to make room that freed nothing.
constexpr std::chrono::seconds kNoRoomPause{10};

fs::path pin_file(const FileStore& store, KernelKey key) {
  return store.home().pins() / key.to_string();
}

// Returns "high 1000 low 800\n".
std::string text_of(const SizeLimit& limit) {
  return "high " + std::to_string(limit.high) + " low " + std::to_string(limit.low) + "\n";
}

std::optional<SizeLimit> parse_limit(std::string_view text) {
  SizeLimit limit;
  const auto number_after = [&](std::string_view word, std::uint64_t& value) {
    if (!text.starts_with(word)) return false;
    text.remove_prefix(word.size());
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return error == std::errc();
  };
  const std::string whole(text);
  if (!number_after("high ", limit.high) || !number_after(" low ", limit.low)) return std::nullopt;
  if (text_of(limit) != whole || limit.low > limit.high) return std::nullopt;
  return limit;
}

}  // namespace

Result<std::set<KernelKey>> read_pins(const FileStore& store) {
  CUBINET_TRY_ASSIGN(const auto names, store.list_or_nothing(store.home().pins()));
  std::set<KernelKey> pins;
  for (const std::string& name : names) {
    const auto key = KernelKey::parse(name);
    if (key && key->to_string() == name) pins.insert(*key);
  }
  return pins;
}

Result<void> write_pin(FileStore& store, KernelKey key) {
  const fs::path file = pin_file(store, key);
  return store.put(file, [&]() -> Result<void> {
    auto created = store.files().create(file);
    // An existing file may be from a process that was killed before it synced the folder.
    if (!created && created.error().native != EEXIST) return std::move(created).error();
    if (created) CUBINET_TRY((*created)->close());
    return store.files().sync_directory(file.parent_path());
  });
}

Result<bool> remove_pin(FileStore& store, KernelKey key) {
  const fs::path file = pin_file(store, key);
  CUBINET_TRY_ASSIGN(const bool removed, store.files().remove(file));
  if (removed) CUBINET_TRY(store.files().sync_directory(file.parent_path()));
  return removed;
}

Result<std::optional<SizeLimit>> read_limit(const FileStore& store) {
  auto file = store.files().read_own(store.home().limit(), kMaximumLimitBytes);
  if (!file && file.error().code == ErrorCode::not_found) return std::optional<SizeLimit>();
  if (!file) return std::move(file).error();
  const auto limit = parse_limit(as_text(file->content));
  if (limit) return limit;
  Error error = damaged_file(store.home().limit(), "it says no limit");
  error.remedy = "set a limit, or none, with `Home::set_limit()`";
  return error;
}

Result<void> check_limit(const SizeLimit& limit) {
  if (limit.low <= limit.high) return {};
  return Error{ErrorCode::invalid_argument,
               "the low mark of " + std::to_string(limit.low) + " bytes is above the high one of " +
                   std::to_string(limit.high),
               "name a low mark that is not above the high one"};
}

Result<void> write_limit(FileStore& store, const std::optional<SizeLimit>& limit) {
  const fs::path file = store.home().limit();
  if (limit) return write_file_atomically(store.files(), file, as_bytes(text_of(*limit)));
  CUBINET_TRY_ASSIGN(const bool removed, store.files().remove(file));
  return removed ? store.files().sync_directory(file.parent_path()) : Result<void>();
}

bool LimitWatch::is_due(std::uint64_t published) {
  const auto now = std::chrono::steady_clock::now();
  const std::lock_guard lock(mutex_);
  published_ += published;
  return now >= earliest_ && (now >= latest_ || published_ > room_ / kPartOfRoom);
}

void LimitWatch::counted(std::optional<std::uint64_t> bytes, const SizeLimit& limit) {
  const auto now = std::chrono::steady_clock::now();
  const std::lock_guard lock(mutex_);
  published_ = 0;
  const bool fits = bytes && *bytes <= limit.high;
  room_ = fits ? limit.high - *bytes : 0;
  earliest_ = fits ? now : now + kNoRoomPause;
  latest_ = now + kCountedFor;
}

}  // namespace cubinet
