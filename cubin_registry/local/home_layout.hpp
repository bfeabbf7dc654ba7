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

// Where things lie in a home; see docs/formats/registry.md. Paths alone: nothing here touches a file.
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
  std::filesystem::path limit() const { return root_ / "limit"; }
  std::filesystem::path tuning() const { return root_ / "tuning"; }
  std::filesystem::path downloads() const { return root_ / "downloads"; }
  std::filesystem::path channels() const { return root_ / "channels"; }
  // In the home, or where none may lie there in a folder of this node.
  const std::filesystem::path& index() const { return index_; }
  void put_index_into(const std::filesystem::path& folder) { index_ = folder / "index.sqlite"; }

  std::filesystem::path cubin(const Sha256Digest& digest) const;
  // The same, in cubins().
  static std::string cubin_in_folder(const Sha256Digest& digest);
  std::filesystem::path import(std::uint64_t number) const;
  std::filesystem::path download(const Sha256Digest& digest) const;
  // Returns whether a file is located where a download belongs: downloads/<2 hex>/<64 hex>.
  bool is_download(const std::filesystem::path& path) const;
  std::filesystem::path channel(const Sha256Digest& digest_of_place) const;
  // The builds that a pin of the channel prefers.
  std::filesystem::path pinned_builds(const Sha256Digest& digest_of_place) const;
  // Held by whoever fetches what is called so.
  std::filesystem::path download_lock(const Sha256Digest& what) const;
  std::filesystem::path channel_lock(const Sha256Digest& digest_of_place) const;
  std::filesystem::path store_lock() const { return locks() / "store.lock"; }
  std::filesystem::path import_lock() const { return locks() / "import.lock"; }
  std::filesystem::path sweep_lock() const { return locks() / "sweep.lock"; }
  std::filesystem::path uses_lock() const { return locks() / "uses.lock"; }
  std::filesystem::path build_lock(const KernelIdentity& identity, const BuildFingerprint& fingerprint) const;
  // Returns whether a file is one of these locks.
  bool is_lock(const std::filesystem::path& path) const;
  // The records of kernels whose hashes begin with the same two bits share a folder, which is called by them.
  // Few folders, because a process lists each in which it looks for a kernel, which takes twice as long as to
  // read the record; more than one, because it lists a folder again after every change in it.
  static constexpr std::size_t kRecordFolders = 4;
  static std::size_t record_folder_of(std::uint64_t kernel_hash) { return kernel_hash >> 62U; }
  // nullopt for what is no such folder's name.
  static std::optional<std::size_t> record_folder_called(std::string_view name);
  std::filesystem::path record_folder(std::size_t number) const;  // REQUIRES: number < kRecordFolders
  // REQUIRES: an entry's name.
  std::filesystem::path record(const std::string& entry_name) const;
  // The entry whose record a file of that name is in that folder: outside the folder of its first bits nobody
  // looks for one.
  static std::optional<std::string> entry_in(std::size_t folder_number, std::string_view file_name);
  // The entry whose record a file is, when it lies where that belongs.
  std::optional<std::string> entry_of(const std::filesystem::path& path) const;
  // The digest that a file's name states, when the file lies where that digest belongs.
  std::optional<Sha256Digest> cubin_digest(const std::filesystem::path& path) const;
  // For messages and reports.
  std::filesystem::path relative(const std::filesystem::path& path) const;

 private:
  std::filesystem::path root_;
  std::filesystem::path index_;
  std::string records_prefix_;
};

// "<16 hex hash of the kernel>-<32 hex>": all builds of a kernel, for every target, are in one folder, and
// the second part is of the record's own SHA-256. So a name stands for one content, and what was read under
// it stays right.
std::string entry_name(const CubinRecord& record);
// The same from the record's bytes. REQUIRES: they are whole.
std::string entry_name(std::uint64_t kernel_hash, ByteView encoded);
// The first part: how the names of all records of a kernel begin.
std::string entry_prefix(std::uint64_t kernel_hash);
struct OpenHome {
  HomeLayout home;
  bool writable = false;
  std::string why_read_only = {};  // StoreDescription::why_read_only
  std::string why_no_index = {};   // empty: there may be one
};

// Resolves symbolic links, creates what is missing (read_write), and refuses what others could have written.
// Decides where the index lies: not on a network file system.
Result<OpenHome> open_home(FileSystem& files, const HomeOptions& options);

}  // namespace cubinet
