// SPDX-License-Identifier: Apache-2.0
#include "local/kept_tuning.hpp"

namespace cubinet {

Result<TuningTable> read_tuning(const FileStore& store) {
  auto file = store.files().read_own(store.home().tuning(), kMaximumTuningBytes);
  if (!file && file.error().code == ErrorCode::not_found) return TuningTable();
  if (!file) {
    Error error = std::move(file).error();
    // No table is larger, so no build will ever read such a file.
    const auto status = store.files().status(store.home().tuning());
    if (error.code == ErrorCode::io && status && *status && (*status)->size > kMaximumTuningBytes)
      error.code = ErrorCode::corruption;
    if (error.code == ErrorCode::corruption || error.code == ErrorCode::untrusted)
      error.remedy = "`Home::repair()` sets it aside";
    return error;
  }
  auto table = TuningTable::decode(file->content);
  if (table) return table;
  Error error = std::move(table).error();
  error.message = "'" + store.home().tuning().native() + "': " + error.message;
  return error;
}

Result<void> merge_tuning(FileStore& store, const TuningTable& table) {
  CUBINET_TRY(table.check());
  const std::filesystem::path file = store.home().tuning();
  auto kept = read_tuning(store);
  if (!kept) {
    if (kept.error().code != ErrorCode::corruption || !store.set_aside(file, kept.error().message))
      return std::move(kept).error();
    kept = TuningTable();
  }
  TuningTable merged = *kept;
  merged.merge(table);
  if (merged == *kept) return {};
  const Bytes bytes = merged.encode();
  if (bytes.size() > kMaximumTuningBytes) {
    return Error{ErrorCode::unavailable,
                 "'" + file.native() + "' would have " + std::to_string(bytes.size()) + " bytes, and " +
                     std::to_string(kMaximumTuningBytes) + " are allowed",
                 "remove the file, and measure what is used"};
  }
  return write_file_atomically(store.files(), file, bytes);
}

}  // namespace cubinet
