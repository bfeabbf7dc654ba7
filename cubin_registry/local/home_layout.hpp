// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/file_system.hpp>
#include <cubinet/cubin_registry/home.hpp>
#include <cubinet/spec/cubin.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace cubinet {

// The paths of a home (docs/formats/registry.md). Accesses no file.
class HomeLayout {
 public:
  explicit HomeLayout(std::filesystem::path root)
      : root_(std::move(root)), index_(root_ / "index.sqlite"), records_prefix_(records().native() + "/") {}

  const std::filesystem::path& root() const { return root_; }
  std::filesystem::path cubins() const { return root_ / "cubins"; }
  std::filesystem::path records() const { return root_ / "records"; }
  std::filesystem::path imports() const { return root_ / "imports"; }
  std::filesystem::path locks() const { return root_ / "locks"; }
  std::filesystem::path quarantine() const { return root_ / "quarantine"; }
  std::filesystem::path pins() const { return root_ / "pins"; }
  std::filesystem::path uses() const { return root_ / "uses"; }
  std::filesystem::path journal() const { return root_ / "journal"; }
  std::filesystem::path limit() const { return root_ / "limit"; }
  std::filesystem::path tuning() const { return root_ / "tuning"; }
  std::filesystem::path downloads() const { return root_ / "downloads"; }
  std::filesystem::path channels() const { return root_ / "channels"; }
  // Returns the path of the index: in the home or, if it cannot be there, in a folder of this node.
  const std::filesystem::path& index() const { return index_; }
  void put_index_into(const std::filesystem::path& folder) { index_ = folder / "index.sqlite"; }

  std::filesystem::path cubin(const Sha256Digest& digest) const;
  // Returns the path relative to cubins().
  static std::string cubin_in_folder(const Sha256Digest& digest);
  std::filesystem::path import(std::uint64_t number) const;
  std::filesystem::path download(const Sha256Digest& digest) const;
  // Returns whether a file has the path of a download: downloads/<2 hex>/<64 hex>.
  bool is_download(const std::filesystem::path& path) const;
  std::filesystem::path channel(const Sha256Digest& digest_of_place) const;
  // Returns the path of the builds that a pin of the channel prefers.
  std::filesystem::path pinned_builds(const Sha256Digest& digest_of_place) const;
  // Return the path of the lock that is held while content is fetched, and while a channel changes.
  std::filesystem::path download_lock(const Sha256Digest& what) const;
  std::filesystem::path channel_lock(const Sha256Digest& digest_of_place) const;
  std::filesystem::path store_lock() const { return locks() / "store.lock"; }
  std::filesystem::path import_lock() const { return locks() / "import.lock"; }
  std::filesystem::path sweep_lock() const { return locks() / "sweep.lock"; }
  std::filesystem::path uses_lock() const { return locks() / "uses.lock"; }
  std::filesystem::path journal_lock() const { return locks() / "journal.lock"; }
  std::filesystem::path build_lock(const KernelIdentity& identity, const BuildFingerprint& fingerprint) const;
  // Returns whether a file is one of these locks.
  bool is_lock(const std::filesystem::path& path) const;
  // Kernels whose hashes share the first two bits share a folder of records, named by them. There
  // are few folders, because a process lists each folder in which it looks for a kernel, and a
  // listing takes twice as long as reading the record. There are several, because a folder is
  // listed again after every change in it.
  static constexpr std::size_t kRecordFolders = 4;
  static std::size_t record_folder_of(std::uint64_t kernel_hash) { return kernel_hash >> 62U; }
  // Returns nullopt if the name is not that of a record folder.
  static std::optional<std::size_t> record_folder_called(std::string_view name);
  std::filesystem::path record_folder(std::size_t number) const;  // REQUIRES: number < kRecordFolders
  // Returns the path of a record. REQUIRES: an entry's name.
  std::filesystem::path record(const std::string& entry_name) const;
  // Returns the entry of a file of that name in that folder. Only the folder of its first bits is
  // searched for an entry.
  static std::optional<std::string> entry_in(std::size_t folder_number, std::string_view file_name);
  // Returns the entry of a record file at its right path.
  std::optional<std::string> entry_of(const std::filesystem::path& path) const;
  // Returns the digest stated in the name of a file at its right path.
  std::optional<Sha256Digest> cubin_digest(const std::filesystem::path& path) const;
  // Returns the path for messages and reports.
  std::filesystem::path relative(const std::filesystem::path& path) const;

 private:
  std::filesystem::path root_;
  std::filesystem::path index_;
  std::string records_prefix_;
};

// Returns "<16 hex hash of the kernel>-<32 hex>". All builds of a kernel, for every target, are in
// one folder. The second part is from the record's own SHA-256, so a name identifies one content,
// and a cached record stays valid.
std::string entry_name(const CubinRecord& record);
// Returns the name from the record's bytes. REQUIRES: they are intact.
std::string entry_name(std::uint64_t kernel_hash, ByteView encoded);
// Returns the first part, the common prefix of all records of a kernel.
std::string entry_prefix(std::uint64_t kernel_hash);
struct OpenHome {
  HomeLayout home;
  bool writable = false;
  std::string why_read_only = {};  // StoreDescription::why_read_only
  std::string why_no_index = {};   // empty: there may be one
};

// Resolves symbolic links, creates missing folders (read_write), and refuses folders that others
// could have written. Chooses the location of the index, which is never on a network file system.
Result<OpenHome> open_home(FileSystem& files, const HomeOptions& options);

}  // namespace cubinet
