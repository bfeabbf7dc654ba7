// SPDX-License-Identifier: Apache-2.0
#include "local/home_layout.hpp"

#include <cubinet/base/sha256_hasher.hpp>

#include <system_error>
#include <unistd.h>

namespace cubinet {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kWritableByOthers = 022;
constexpr std::string_view kDigits = "0123456789abcdef";
constexpr std::string_view kRecordSuffix = ".record";
constexpr std::string_view kLockSuffix = ".lock";
constexpr std::size_t kBuildLockDigits = 32;
constexpr std::size_t kDigestDigits = 2 * sizeof(Sha256Digest::bytes);

// Returns at least kRecordFolders if the character is not a digit.
std::size_t folder_of_digit(char digit) {
  return kDigits.find(digit) / (kDigits.size() / HomeLayout::kRecordFolders);
}

Error unusable(const fs::path& path, Error reason) {
  reason.code = ErrorCode::unavailable;
  reason.message = "the registry's home '" + path.string() + "' cannot be used: " + reason.message;
  if (reason.remedy.empty()) reason.remedy = "name another folder with `HomeOptions::path`";
  return reason;
}

bool is_hex(std::string_view text, std::size_t digits) {
  return text.size() == digits && text.find_first_not_of(kDigits) == std::string_view::npos;
}

// Checks the owner of a folder. A user who can write it can add kernels with matching records and
// digests. Root can do that anywhere, so a folder of root's is trusted for reading; for writing, it
// must be the user's own.
Result<void> check_owner(const fs::path& folder, const FileStatus& status, bool to_write) {
  if (status.type != FileStatus::Type::directory) {
    return Error{ErrorCode::untrusted, "'" + folder.string() + "' is no folder", "remove it"};
  }
  const bool trusted = status.owner == ::geteuid() || (status.owner == 0 && !to_write);
  if (!trusted) {
    return Error{ErrorCode::untrusted,
                 "'" + folder.string() + "' belongs to user " + std::to_string(status.owner) +
                     ", not to user " + std::to_string(::geteuid()),
                 "name a folder of your own with `HomeOptions::path`"};
  }
  if ((status.permissions & kWritableByOthers) != 0) {
    return Error{ErrorCode::untrusted, "'" + folder.string() + "' can be written by group or others",
                 "run: chmod go-w '" + folder.string() + "'"};
  }
  return {};
}

// Resolves symbolic links once, so that a link that changes later has no effect.
Result<fs::path> resolve(const fs::path& path) {
  std::error_code failure;
  fs::path resolved = fs::weakly_canonical(fs::absolute(path, failure), failure);
  if (failure) return unusable(path, io_error("cannot resolve the path", failure.value()));
  return resolved.has_filename() ? resolved : resolved.parent_path();
}

// Creates the subfolders. They become durable with their first file.
Result<void> create_subfolders(FileSystem& files, const HomeLayout& home) {
  for (const fs::path& folder : {home.cubins(), home.records(), home.locks(), home.quarantine()}) {
    CUBINET_TRY_ASSIGN(const auto status, files.status(folder));
    if (status) continue;
    CUBINET_TRY(files.create_directories(folder, FileSystem::Mode::shared));
  }
  return {};
}

Result<void> check_subfolders(FileSystem& files, const HomeLayout& home, bool to_write) {
  for (const fs::path& folder :
       {home.cubins(), home.records(), home.imports(), home.locks(), home.quarantine(), home.pins(),
        home.channels(), home.downloads(), home.root() / "headers", home.root() / "trust"}) {
    CUBINET_TRY_ASSIGN(const auto status, files.status(folder));
    if (status) CUBINET_TRY(check_owner(folder, *status, to_write));
  }
  return {};
}

}  // namespace

fs::path HomeLayout::cubin(const Sha256Digest& digest) const {
  return cubins() / cubin_in_folder(digest);
}

// Used by every hit. Joining text takes a third of the time of joining paths.
std::string HomeLayout::cubin_in_folder(const Sha256Digest& digest) {
  const std::string name = digest.to_hex();
  std::string path = name.substr(0, 2);
  path.reserve(name.size() + 9);
  return path.append("/").append(name).append(".cubin");
}

fs::path HomeLayout::import(std::uint64_t number) const {
  return imports() / (std::to_string(number) + ".import");
}

fs::path HomeLayout::download(const Sha256Digest& digest) const {
  const std::string name = digest.to_hex();
  return downloads() / name.substr(0, 2) / name;
}

bool HomeLayout::is_download(const fs::path& path) const {
  const auto digest = Sha256Digest::parse(path.filename().string());
  return digest && download(*digest) == path;
}

fs::path HomeLayout::channel(const Sha256Digest& digest_of_place) const {
  return channels() / (digest_of_place.to_hex() + ".channel");
}

fs::path HomeLayout::pinned_builds(const Sha256Digest& digest_of_place) const {
  return channels() / (digest_of_place.to_hex() + ".builds");
}

fs::path HomeLayout::download_lock(const Sha256Digest& what) const {
  return locks() / (what.to_hex() + ".lock");
}

fs::path HomeLayout::channel_lock(const Sha256Digest& digest_of_place) const {
  return locks() / (digest_of_place.to_hex() + ".channel.lock");
}

fs::path HomeLayout::build_lock(const KernelIdentity& identity, const BuildFingerprint& fingerprint) const {
  Sha256Hasher hasher;
  hasher.field("encoding", as_text(identity.encoding()));
  hasher.field("fingerprint", as_text(fingerprint.digest.bytes));
  return locks() / (hasher.finish().to_hex().substr(0, kBuildLockDigits) + ".lock");
}

bool HomeLayout::is_lock(const fs::path& path) const {
  if (path.parent_path() != locks()) return false;
  for (const fs::path& lock : {store_lock(), import_lock(), sweep_lock(), uses_lock(), journal_lock()}) {
    if (path == lock) return true;
  }
  const std::string file_name = path.filename().string();
  std::string_view name = file_name;
  if (!name.ends_with(kLockSuffix)) return false;
  name.remove_suffix(kLockSuffix.size());
  constexpr std::string_view kChannel = ".channel";
  if (name.ends_with(kChannel)) return is_hex(name.substr(0, name.size() - kChannel.size()), kDigestDigits);
  return is_hex(name, kBuildLockDigits) || is_hex(name, kDigestDigits);
}

fs::path HomeLayout::record_folder(std::size_t number) const {
  return records_prefix_ + kDigits[number];
}

std::optional<std::size_t> HomeLayout::record_folder_called(std::string_view name) {
  const std::size_t number = name.size() == 1 ? kDigits.find(name.front()) : std::string_view::npos;
  return number < kRecordFolders ? std::optional(number) : std::nullopt;
}

std::optional<std::string> HomeLayout::entry_in(std::size_t folder_number, std::string_view file_name) {
  if (!file_name.ends_with(kRecordSuffix)) return std::nullopt;
  file_name.remove_suffix(kRecordSuffix.size());
  if (file_name.empty() || folder_of_digit(file_name.front()) != folder_number) return std::nullopt;
  return std::string(file_name);
}

std::optional<std::string> HomeLayout::entry_of(const fs::path& path) const {
  const auto folder = record_folder_called(path.parent_path().filename().native());
  return folder && path.parent_path() == record_folder(*folder) ? entry_in(*folder, path.filename().native())
                                                                : std::nullopt;
}

fs::path HomeLayout::record(const std::string& entry_name) const {
  const auto folder = static_cast<char>('0' + folder_of_digit(entry_name.front()));
  return records_prefix_ + folder + "/" + entry_name + std::string(kRecordSuffix);
}

std::optional<Sha256Digest> HomeLayout::cubin_digest(const fs::path& path) const {
  const auto digest = Sha256Digest::parse(path.stem().string());
  return digest && cubin(*digest) == path ? std::optional(*digest) : std::nullopt;
}

fs::path HomeLayout::relative(const fs::path& path) const {
  return path.lexically_relative(root_);
}

std::string entry_prefix(std::uint64_t kernel_hash) {
  return KernelKey{kernel_hash}.to_string() + "-";
}

std::string entry_name(std::uint64_t kernel_hash, ByteView encoded) {
  // A record ends with the digest of all that precedes.
  constexpr std::size_t kNamedBytes = 16;
  return entry_prefix(kernel_hash) + to_hex(encoded.last(sizeof(Sha256Digest::bytes)).first(kNamedBytes));
}

std::string entry_name(const CubinRecord& record) {
  return entry_name(record.identity.kernel_hash(), encode_record(record));
}

namespace {

// SQLite's locks and journal are unreliable on network and user-space file systems. An index may be
// lost at any time, so each node creates its own.
void place_index(FileSystem& files, const std::string& folder, OpenHome& opened) {
  const FileSystemKind kind = files.kind(opened.home.root());
  if (!kind.network) return;
  opened.why_no_index = "the home is on a network file system, " + kind.name;
  if (folder.empty() || files.kind(folder).network) return;
  // A separate index for each home, identified by its path.
  const fs::path mine =
      fs::path(folder) / sha256(as_bytes(opened.home.root().native())).to_hex().substr(0, 16);
  if (opened.writable && !files.create_directories(mine, FileSystem::Mode::private_to_owner)) return;
  files.guard(mine);
  const auto status = files.status(mine);
  if (!status || !*status) return;
  if (const auto owned = check_owner(mine, **status, opened.writable); !owned) {
    opened.why_no_index += ", and " + owned.error().message;
    return;
  }
  opened.home.put_index_into(mine);
  opened.why_no_index.clear();
}

}  // namespace

Result<OpenHome> open_home(FileSystem& files, const HomeOptions& options) {
  const fs::path path = options.path;
  if (path.empty()) {
    return Error{ErrorCode::invalid_argument, "the registry's home has no name", "name a folder"};
  }
  const bool read_write = options.access == HomeOptions::Access::read_write;
  CUBINET_TRY_ASSIGN(const fs::path root, resolve(path));
  auto status = files.status(root);
  if (!status) return unusable(root, std::move(status).error());
  if (!*status) {
    if (!read_write) {
      return Error{ErrorCode::unavailable, "there is no registry at '" + root.string() + "'",
                   "name another folder with `HomeOptions::path`"};
    }
    if (auto created = files.create_directories(root, FileSystem::Mode::private_to_owner); !created) {
      return unusable(root, std::move(created).error());
    }
    status = files.status(root);
    if (!status) return unusable(root, std::move(status).error());
  }
  if (!*status || (*status)->type != FileStatus::Type::directory) {
    return unusable(root, Error{ErrorCode::unavailable, "it is no folder"});
  }
  files.guard(root);
  OpenHome opened{HomeLayout(root), read_write};
  const auto cannot_write = [&](const Error& reason) {
    opened.writable = false;
    opened.why_read_only =
        "the home '" + root.string() + "' cannot be written: " +
        (reason.native == 0 ? reason.message
                            : std::generic_category().message(static_cast<int>(reason.native)));
  };
  if (read_write) {
    if (const auto checked = files.check_writable(root); !checked) cannot_write(checked.error());
  }
  CUBINET_TRY(check_owner(root, **status, opened.writable));
  CUBINET_TRY(check_subfolders(files, opened.home, opened.writable));
  if (opened.writable) {
    if (const auto created = create_subfolders(files, opened.home); !created) cannot_write(created.error());
    CUBINET_TRY(check_subfolders(files, opened.home, opened.writable));
  }
  place_index(files, options.index_folder, opened);
  return opened;
}

}  // namespace cubinet
