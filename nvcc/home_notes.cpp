// SPDX-License-Identifier: Apache-2.0
#include "home_notes.hpp"

#include <cubinet/base/file_system.hpp>
#include <cubinet/base/text.hpp>

#include <sstream>

namespace cubinet::nvcc {
namespace {

constexpr std::uint64_t kMaximumListBytes = std::uint64_t{1} << 20;
constexpr std::uint64_t kMaximumReasonBytes = 4096;
constexpr const char* kPassed = "passed";

std::filesystem::path note_of(const std::filesystem::path& folder, const BuildFingerprint& fingerprint) {
  return folder / "refused" / fingerprint.digest.to_hex();
}

// Returns the reason as one line.
std::string line_of(const std::string& reason) {
  return printable(reason, kMaximumReasonBytes / 2) + "\n";
}

}  // namespace

HomeNotes::HomeNotes(const std::string& home) {
  if (!home.empty()) folder_ = std::filesystem::path(home) / "nvcc";
}

std::optional<std::string> HomeNotes::refusal(const BuildFingerprint& fingerprint) const {
  if (folder_.empty()) return std::nullopt;
  const auto text = posix_file_system()->read(note_of(folder_, fingerprint), kMaximumReasonBytes);
  if (!text) return std::nullopt;
  const std::string_view line = as_text(*text);
  return std::string(line.substr(0, line.find('\n')));
}

Result<void> HomeNotes::add_refusal(const BuildFingerprint& fingerprint, const std::string& reason) const {
  if (folder_.empty()) return {};
  const auto files = posix_file_system();
  const std::filesystem::path note = note_of(folder_, fingerprint);
  CUBINET_TRY(files->create_directories(note.parent_path(), FileSystem::Mode::private_to_owner));
  return write_file_atomically(*files, note, as_bytes(line_of(reason)));
}

Result<void> HomeNotes::count(const std::string& reason) const {
  if (folder_.empty()) return {};
  const auto files = posix_file_system();
  CUBINET_TRY(files->create_directories(folder_, FileSystem::Mode::private_to_owner));
  CUBINET_TRY_ASSIGN(const auto status, files->status(folder_ / kPassed));
  if (status && status->size >= kMaximumListBytes) return {};
  return files->append(folder_ / kPassed, as_bytes(line_of(reason)));
}

Result<std::map<std::string, std::uint64_t>> HomeNotes::counts() const {
  std::map<std::string, std::uint64_t> counts;
  if (folder_.empty()) return counts;
  const auto files = posix_file_system();
  const auto list = files->read(folder_ / kPassed, 2 * kMaximumListBytes);
  if (!list && list.error().code == ErrorCode::not_found) return counts;
  if (!list) return list.error();
  std::istringstream lines{std::string(as_text(*list))};
  for (std::string line; std::getline(lines, line);)
    ++counts[line];
  return counts;
}

}  // namespace cubinet::nvcc
