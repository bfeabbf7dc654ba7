// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/log.hpp>
#include <cubinet/base/result.hpp>
#include <cubinet/cubin_registry/row_table.hpp>
#include <cubinet/cubin_registry/store.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

// cubin_registry/downloads.hpp: content from servers, for modules that contact them
class Downloads;
class FileSystem;
class Imports;      // cubin_registry/imports.hpp: imports, lists and removes folders, whose content the
                    // home returns
class HomeJournal;  // cubin_registry/journal.hpp: what processes noted, read by session/journal.hpp

struct HomeOptions {
  enum class Access { read_write, read_only };

  std::string path;
  Access access = Access::read_write;
  // The location of the index of a home on a network file system: a folder on a local file system
  // that belongs to this user. If it is empty or on a network file system, the home has no index
  // and its record files are read.
  std::string index_folder = {};
  std::shared_ptr<FileSystem> files = nullptr;  // nullptr: the operating system's
  LogSink log = {};
};

// The size limit of a home. If its images exceed `high` bytes, the least recently used are evicted
// until `low` is reached.
struct SizeLimit {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
};

struct HomeStats {
  std::uint64_t entries = 0;  // builds that were compiled here or imported from bundles
  std::uint64_t cubins = 0;   // distinct images of these builds
  std::uint64_t cubin_bytes = 0;
  std::uint64_t quarantined = 0;  // quarantined files
  std::string sqlite_version;     // of the library that is loaded
  // The journal mode of the index, "delete", or the reason why there is none.
  std::string journal_mode;
  // The usage counters of every process that could write the home. They are lower bounds, because a
  // killed process loses those of its last hour.
  StoreUses uses;
  // The last use of each image, imported ones included, in seconds since the epoch, with a
  // resolution of one hour, because not every use is written. Images that were never used are
  // absent.
  std::map<Sha256Digest, std::int64_t> last_used;
  std::vector<KernelKey> pins;     // ascending
  std::optional<SizeLimit> limit;  // the limit that publishers enforce
};

struct SweepOptions {
  // If true, nothing is changed and the report lists what a sweep would remove now.
  bool dry_run = false;
  // nullopt: the limit of the home; if it has none, nothing is evicted.
  std::optional<SizeLimit> limit = {};
  // If true, whole imported folders may be evicted too. If false, they do not count towards the
  // limit.
  bool imports = false;
};

// The result of a sweep.
struct SweepReport {
  std::uint64_t entries = 0;  // entries whose image is missing
  std::uint64_t files = 0;    // leftover files, and images that no record names
  std::uint64_t bytes = 0;    // bytes of these files

  // The builds evicted for the limit, least recently used first.
  CubinRecords evicted;
  std::vector<std::uint64_t> evicted_imports;  // their numbers
  std::uint64_t evicted_bytes = 0;
  std::uint64_t kept_bytes = 0;    // remaining bytes that count towards the limit, including:
  std::uint64_t pinned_bytes = 0;  // pinned bytes, which are not evicted
  // bytes published or used within the last hour, which are not evicted
  std::uint64_t recent_bytes = 0;
};

// The local store. Content-addressed cubin files, one record file per build and one file per
// imported folder are authoritative. The SQLite index is a copy of the records, so that they need
// not be read one by one.
//
// Layout of the home (docs/formats/registry.md):
//   cubins/<2 hex>/<64 hex>.cubin    named by SHA-256
//   imports/<number>.import          the record of an imported folder
//   records/<0 to 3>/<16 hex hash of the kernel>-<32 hex of the record's SHA-256>.record
//   downloads/  channels/            content from servers by digest, and the state of channels
//   tuning                           measurements on devices
//   journal                          what was compiled for requests, and why
//   locks/  quarantine/  pins/  uses  limit  index.sqlite
//
// Thread-safe. Any number of processes may share a home. Its content is verified before use: an
// image is compared with its digest on every read into memory. A damaged one is moved to
// quarantine/, logged and reported as a miss.
//
// A home that exists and cannot be written is opened for reading; changes return unavailable. In a
// process forked after open(), every call except the destructor returns unavailable.
class Home : public WritableStore, public RowTable {
 public:
  // Opens a home, and creates it if access is read_write. Returns untrusted if other users could
  // have written its content: for writing, it must belong to the calling user; for reading, or if
  // it is not writable, to the calling user or root; and it must never be writable by group or
  // others. Returns unavailable if it cannot be created or, for reading, does not exist.
  static Result<std::shared_ptr<Home>> open(const HomeOptions& options);

  // Return the interfaces for importing folders, for contacting servers and for the journal. All
  // live as long as the home.
  virtual Imports& imports() = 0;
  virtual Downloads& downloads() = 0;
  virtual HomeJournal& journal() = 0;

  virtual Result<HomeStats> stats() = 0;
  // Reads and verifies everything. Changes nothing. An index that is locked or of another version
  // is not a finding; the log says that it was not checked.
  virtual Result<VerifyReport> verify() = 0;
  // Repairs the findings of verify(): quarantines damaged records, imports and images, removes
  // entries without an image, and rebuilds the index from the record files, which are the report's
  // entries. Leftover files are for sweep().
  virtual Result<VerifyReport> repair() = 0;
  // Removes temporary files older than an hour, downloads older than a month, images that no record
  // names, records whose image is missing, superseded records of a build, and old lines of the
  // journal. Then, for a limit,
  // evicts the least recently used. Removes no image while some record or import cannot be read, or
  // a folder is being imported. A dry run may count the image of an entry that is being published.
  virtual Result<SweepReport> sweep(const SweepOptions& options = {}) = 0;

  // Pins a key. Its builds, later ones included, and imports that have one, are never evicted.
  virtual Result<void> pin(KernelKey key) = 0;
  virtual Result<bool> unpin(KernelKey key) = 0;  // returns false if it was not pinned
  // Sets the limit that all publishers enforce: the one that exceeds it sweeps. nullopt: no limit.
  // Returns an error (invalid_argument) unless low <= high.
  virtual Result<void> set_limit(const std::optional<SizeLimit>& limit) = 0;
};

}  // namespace cubinet
