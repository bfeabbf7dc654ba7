// SPDX-License-Identifier: Apache-2.0
#include "import_files.hpp"

#include "import_format.hpp"

#include <algorithm>
#include <charconv>
#include <map>

namespace cubinet {
namespace {

namespace fs = std::filesystem;

// "7.import": one name for one number, and none that SQLite could not hold.
std::optional<std::uint64_t> number_of(std::string_view name) {
  constexpr std::string_view kSuffix = ".import";
  if (!name.ends_with(kSuffix)) return std::nullopt;
  name.remove_suffix(kSuffix.size());
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size() || number == 0 || name.front() == '0' ||
      number > kMaximumImportNumber) {
    return std::nullopt;
  }
  return number;
}

Error with_path(Error error, const fs::path& path) {
  error.message = "'" + path.string() + "': " + error.message;
  return error;
}

Result<std::shared_ptr<const Bytes>> checked(Result<Bytes> bytes, const fs::path& path,
                                             const Sha256Digest& digest) {
  if (!bytes) return std::move(bytes).error();
  if (sha256(*bytes) != digest) {
    return Error{ErrorCode::corruption, "'" + path.string() + "' is damaged: its SHA-256 is another one"};
  }
  return std::make_shared<const Bytes>(*std::move(bytes));
}

}  // namespace

Result<std::vector<ImportStamp>> ImportFiles::stamps() const {
  const fs::path folder = store_.home().imports();
  auto names = store_.files().list(folder);
  if (!names && names.error().code == ErrorCode::not_found) return std::vector<ImportStamp>();
  if (!names) return std::move(names).error();
  std::vector<ImportStamp> stamps;
  for (const std::string& name : *names) {
    const auto number = number_of(name);
    if (!number) continue;
    CUBINET_TRY_ASSIGN(const auto status, store_.files().status(folder / name));
    if (status) stamps.push_back({*number, status->size, status->modified_ns});
  }
  std::sort(stamps.begin(), stamps.end());
  return stamps;
}

Result<StoredImport> ImportFiles::read(const ImportStamp& stamp) const {
  const fs::path path = store_.home().import(stamp.number);
  CUBINET_TRY_ASSIGN(const Bytes bytes, store_.files().read_own(path, kMaximumImportBytes));
  auto import = decode_import(bytes, stamp.number);
  if (!import) return with_path(std::move(import).error(), path);
  return StoredImport{stamp, *std::move(import)};
}

Result<ArtifactSummary> ImportFiles::read_summary(const ImportStamp& stamp) const {
  const fs::path path = store_.home().import(stamp.number);
  CUBINET_TRY_ASSIGN(const Bytes bytes, store_.files().read_own(path, kMaximumImportBytes));
  auto summary = decode_import_summary(bytes, stamp.number);
  if (!summary) return with_path(std::move(summary).error(), path);
  return summary;
}

Result<std::vector<ImportFiles::SummaryOrError>> ImportFiles::summaries() const {
  CUBINET_TRY_ASSIGN(const auto all, stamps());
  std::vector<SummaryOrError> list;
  for (const ImportStamp& stamp : all) {
    auto summary = read_summary(stamp);
    if (!summary && summary.error().code == ErrorCode::not_found) continue;  // removed since it was listed
    list.push_back({stamp, std::move(summary)});
  }
  return list;
}

Result<std::vector<ImportFiles::SummaryOrError>> ImportFiles::in_force() const {
  CUBINET_TRY_ASSIGN(auto list, summaries());
  std::map<fs::path, std::uint64_t> highest;
  for (const SummaryOrError& entry : list) {
    if (entry.summary) highest[entry.summary->folder] = entry.stamp.number;
  }
  list.erase(std::remove_if(list.begin(), list.end(),
                            [&](const SummaryOrError& entry) {
                              return entry.summary && highest[entry.summary->folder] != entry.stamp.number;
                            }),
             list.end());
  return list;
}

Result<void> ImportFiles::for_each(const Visitor& visit) const {
  CUBINET_TRY_ASSIGN(auto list, in_force());
  for (SummaryOrError& entry : list) {
    if (!entry.summary) {
      CUBINET_TRY(visit(entry.stamp, std::move(entry.summary).error()));
      continue;
    }
    auto import = read(entry.stamp);
    if (!import && import.error().code == ErrorCode::not_found) continue;
    CUBINET_TRY(visit(entry.stamp, std::move(import)));
  }
  return {};
}

bool ImportFiles::holds(const ImportStamp& stamp, ByteView encoded) const {
  const auto bytes = store_.files().read_own(store_.home().import(stamp.number), kMaximumImportBytes);
  return bytes && std::equal(bytes->begin(), bytes->end(), encoded.begin(), encoded.end());
}

Result<void> ImportFiles::make_folder(const fs::path& folder) {
  CUBINET_TRY_ASSIGN(const auto status, store_.files().status(folder));
  if (status) return {};
  CUBINET_TRY(store_.files().create_directories(folder, FileSystem::Mode::shared));
  return store_.files().sync_directory(folder.parent_path());
}

Result<ImportStamp> ImportFiles::write(std::uint64_t number, ByteView encoded) {
  const fs::path path = store_.home().import(number);
  CUBINET_TRY(make_folder(path.parent_path()));
  CUBINET_TRY(write_file_atomically(store_.files(), path, encoded));
  CUBINET_TRY_ASSIGN(const auto status, store_.files().status(path));
  if (!status) return Error{ErrorCode::not_found, "'" + path.string() + "' was removed at once"};
  return ImportStamp{number, status->size, status->modified_ns};
}

Result<bool> ImportFiles::remove(std::uint64_t number) {
  const fs::path path = store_.home().import(number);
  CUBINET_TRY_ASSIGN(const bool removed, store_.files().remove(path));
  if (removed) CUBINET_TRY(store_.files().sync_directory(path.parent_path()));
  return removed;
}

Result<std::shared_ptr<const Bytes>> ImportFiles::read_image(const Sha256Digest& digest,
                                                             std::uint64_t size) const {
  const fs::path path = store_.home().artifact(digest);
  return checked(store_.files().read(path, std::min(size, kMaximumImageBytes)), path, digest);
}

Result<std::shared_ptr<const Bytes>> ImportFiles::read_in_place(const fs::path& folder,
                                                                const ArtifactFile& file) const {
  const fs::path path = folder / file.name;
  const std::uint64_t limit = std::clamp<std::uint64_t>(file.size, 1, kMaximumImageBytes);
  return checked(store_.files().read(path, limit), path, file.digest);
}

// Where the file that got the second name is not the one that was verified, it loses it again.
Result<bool> ImportFiles::try_link(const fs::path& from, const fs::path& to, const Sha256Digest& digest) {
  const fs::path temporary = temporary_path_beside(to);
  if (!store_.files().link(from, temporary)) return false;
  Result<void> linked = [&]() -> Result<void> {
    CUBINET_TRY(checked(store_.files().read(temporary, kMaximumImageBytes), from, digest));
    CUBINET_TRY(store_.files().rename(temporary, to));
    return store_.files().sync_directory(to.parent_path());
  }();
  // A rename of one name onto another of the same file leaves both.
  static_cast<void>(store_.files().remove(temporary));
  if (!linked) return std::move(linked).error();
  return true;
}

Result<void> ImportFiles::bring(const fs::path& from, const Sha256Digest& digest, ArtifactPlacement how) {
  const fs::path to = store_.home().artifact(digest);
  // What a link names is read for its size; what is there has the same, or is replaced.
  CUBINET_TRY_ASSIGN(const auto status, store_.files().status(from));
  const bool sized = status && status->type == FileStatus::Type::regular;
  auto there = read_image(digest, sized ? status->size : kMaximumImageBytes);
  if (there) return {};
  if (there.error().code == ErrorCode::corruption) store_.set_aside(to, there.error().message);
  CUBINET_TRY(make_folder(store_.home().artifacts()));
  CUBINET_TRY(make_folder(to.parent_path()));
  if (how == ArtifactPlacement::linked) {
    CUBINET_TRY_ASSIGN(const bool linked, try_link(from, to, digest));
    if (linked) return {};
  }
  CUBINET_TRY_ASSIGN(const auto image, checked(store_.files().read(from, kMaximumImageBytes), from, digest));
  return write_file_atomically(store_.files(), to, *image);
}

std::vector<PlainKernel> named_kernels(const ArtifactImport& import, std::string_view function_name) {
  std::vector<PlainKernel> found;
  for (const KernelRow& row : import.rows) {
    if (row.function_name != function_name) continue;
    found.push_back({row.function_name, row.shared_bytes, row.threads, row.target, row.digest});
  }
  for (const PlainKernel& kernel : import.plain) {
    if (kernel.function_name == function_name) found.push_back(kernel);
  }
  return found;
}

}  // namespace cubinet
