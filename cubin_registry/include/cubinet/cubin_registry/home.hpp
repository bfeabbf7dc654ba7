// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/log.hpp>
#include <cubinet/base/result.hpp>
#include <cubinet/base/sha256.hpp>
#include <cubinet/cubin_registry/store.hpp>
#include <cubinet/kernel_table/kernel_row.hpp>
#include <cubinet/spec/cubin_elf.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

class FileSystem;

// Where the files of an imported folder are used from. Stored: DO NOT RENUMBER.
enum class ArtifactPlacement : std::uint8_t { in_place = 0, linked = 1, copied = 2 };
std::string_view to_string(ArtifactPlacement placement);  // "in_place", "linked", "copied"

// A cubin of an imported folder.
struct ArtifactFile {
  std::string name;  // relative to the folder, with '/' between folders and no "." or ".." among them
  Sha256Digest digest;
  std::uint64_t size = 0;

  friend bool operator==(const ArtifactFile&, const ArtifactFile&) = default;
};

// A folder of published cubins as it was imported: what was good in it.
struct ArtifactImport {
  std::string folder;  // absolute
  std::string pin;  // SHA-256 of the metadata that lists its kernels, in hexadecimal; part of their identity
  std::string version;  // the publisher's, where the metadata is known: "0.6.13"
  ArtifactPlacement placement = ArtifactPlacement::in_place;
  std::vector<KernelRow> rows;      // attention kernels; their pin and provenance are the import's
  std::vector<PlainKernel> plain;   // others, found by name
  std::vector<ArtifactFile> files;  // ascending by name; of every row and plain kernel there is one
};

struct ImportSummary {
  std::uint64_t number = 0;  // under which it was pinned: of imports of one kernel the highest is right
  std::string folder;
  std::string pin;
  std::string version;
  ArtifactPlacement placement = ArtifactPlacement::in_place;
  std::uint64_t rows = 0;
  std::uint64_t plain = 0;
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;  // of the files
  bool gone = false;        // it is used in place, and its folder is not there: it offers nothing

  friend bool operator==(const ImportSummary&, const ImportSummary&) = default;
};

// What is known of a file since it was last read; valid while size, times and inode are the same.
struct VerifiedFile {
  std::string name;  // relative to the folder
  std::uint64_t size = 0;
  std::int64_t modified_ns = 0;
  std::int64_t changed_ns = 0;
  std::uint64_t inode = 0;
  Sha256Digest digest;
  CubinInspection inspection;
};

// The folders of published cubins that a home knows, each a file of its own (docs/formats/import.md). What
// they hold, the home itself answers. Thread-safe, and any number of processes may share a home. In a home
// that cannot be written whatever would change it is unavailable.
class Imports {
 public:
  virtual ~Imports() = default;

  virtual Result<std::vector<ImportSummary>> list() = 0;  // ascending by number
  // The import in whole; nullptr when there is none of that number.
  virtual Result<std::shared_ptr<const ArtifactImport>> read(std::uint64_t number) = 0;
  // Makes the import durable (imports/<number>.import), then visible. Replaces an earlier import of the same
  // folder. Where the content equals what is there nothing is written and the number stays; otherwise the
  // number is the highest one + 1: pinned last. invalid_argument names what is wrong with the import.
  virtual Result<std::uint64_t> publish(const ArtifactImport& import) = 0;
  // Removes an import, and its images from the home where nothing else names them. False when there was none
  // of that number.
  virtual Result<bool> remove(std::uint64_t number) = 0;
  // Brings a verified file into the home, before publish(): a hard link to it, or a copy where links are not
  // possible or `how` asks for one. corruption when the bytes are not the digest's. Nothing is done where the
  // home has the image. Until publish(), or the end of this home, no sweep removes it.
  virtual Result<void> bring(const std::string& file, const Sha256Digest& digest, ArtifactPlacement how) = 0;

  // A memory of what was verified, so that an interrupted import goes on and a second one is quick. Not a
  // promise: it may be empty, or older than what was remembered last.
  virtual Result<std::vector<VerifiedFile>> verified(const std::string& folder) = 0;
  // In one transaction; what was remembered of the same names is replaced, of others stays.
  virtual Result<void> remember(const std::string& folder, std::span<const VerifiedFile> files) = 0;
};

struct HomeOptions {
  enum class Access { read_write, read_only };

  std::string path;
  Access access = Access::read_write;
  std::shared_ptr<FileSystem> files = nullptr;  // nullptr: the operating system's
  LogSink log = {};
};

struct HomeStats {
  std::uint64_t entries = 0;  // builds that were compiled here or came from bundles
  std::uint64_t cubins = 0;   // distinct images of theirs
  std::uint64_t cubin_bytes = 0;
  std::uint64_t quarantined = 0;  // files set aside
  std::vector<ImportSummary> imports;
  std::string sqlite_version;  // of the library at run time
  std::string journal_mode;    // of the index: "delete", or why there is none
};

struct RebuildReport {
  std::uint64_t indexed = 0;
  std::vector<StoreFinding> set_aside;   // damaged for good, now in quarantine
  std::vector<StoreFinding> unreadable;  // they stay, and are not in the index
};

// What a sweep removes.
struct SweepReport {
  std::uint64_t entries = 0;  // whose image is gone
  std::uint64_t files = 0;    // left over, or images that nothing names
  std::uint64_t bytes = 0;    // of those files
};
enum class SweepMode { remove, count };

// The local store: content-addressed cubin files, one record file a build and one file an imported folder are
// the truth; the SQLite index is a copy of the records that spares reading them one by one.
//
// Layout of the home (docs/formats/registry.md):
//   cubins/<2 hex>/<64 hex>.cubin    named by SHA-256
//   imports/<number>.import          what is known of an imported folder
//   records/<2 hex>/<16 hex hash of the kernel>-<32 hex of the record's SHA-256>.record
//   locks/  quarantine/  index.sqlite
//
// Thread-safe; any number of processes may share a home. Nothing it holds is trusted before it is checked: an
// image is verified against its digest on every read into memory, and a damaged one is moved to quarantine/,
// logged, and reported as a miss.
//
// A home that exists and cannot be written is opened all the same: it serves, and whatever would change it is
// unavailable. In a process forked after open() every call but the destructor is unavailable.
class Home : public WritableStore {
 public:
  // Creates the home when access is read_write. untrusted when others could have written what it holds: to
  // write, it must be the calling user's; to read (or where it cannot be written), the calling user's or
  // root's; and never writable by group or others. unavailable when it cannot be created or, read-only, does
  // not exist.
  static Result<std::shared_ptr<Home>> open(const HomeOptions& options);

  // Lives as long as the home.
  virtual Imports& imports() = 0;

  virtual Result<HomeStats> stats() = 0;
  // Reads and checks everything; changes nothing.
  // An index that is locked, or of another version, is no finding: the log says that it was not checked.
  virtual Result<VerifyReport> verify() = 0;
  // Makes the index anew from the record files and sets aside those that are damaged for good.
  virtual Result<RebuildReport> rebuild() = 0;
  // Removes temporary files older than an hour, images that nothing names, records whose image is gone, and
  // those of a build that another record of it took over. Removes no image while some record or import cannot
  // be read, or a folder is being imported. With SweepMode::count nothing is changed, and the report is what
  // a sweep would remove now; of an entry that is just being published it may count the image.
  virtual Result<SweepReport> sweep(SweepMode mode = SweepMode::remove) = 0;
};

}  // namespace cubinet
