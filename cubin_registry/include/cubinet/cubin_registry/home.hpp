// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/log.hpp>
#include <cubinet/base/result.hpp>
#include <cubinet/cubin_registry/store.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

class Downloads;  // cubin_registry/downloads.hpp: what came from servers, for those who ask them
class FileSystem;
class Imports;  // cubin_registry/imports.hpp: how folders come in, are listed and go; what they hold the home
                // answers

struct HomeOptions {
  enum class Access { read_write, read_only };

  std::string path;
  Access access = Access::read_write;
  // Where the index of a home on a network file system lies: a folder on a local one, this user's own. Empty,
  // or on a network file system too: such a home has none, and its record files are read.
  std::string index_folder = {};
  std::shared_ptr<FileSystem> files = nullptr;  // nullptr: the operating system's
  LogSink log = {};
};

// How much a home may hold: when it is more than `high` bytes of images, what was not used for longest goes
// until it is `low`.
struct SizeLimit {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
};

struct HomeStats {
  std::uint64_t entries = 0;  // builds that were compiled here or came from bundles
  std::uint64_t cubins = 0;   // distinct images of theirs
  std::uint64_t cubin_bytes = 0;
  std::uint64_t quarantined = 0;  // files set aside
  std::string sqlite_version;     // of the library at run time
  std::string journal_mode;       // of the index: "delete", or why there is none
  // By every process that could write the home; at least so many, since one that is killed takes its last
  // hour's with it.
  StoreUses uses;
  // When an image was last taken, imported ones included, in seconds since the epoch: to the hour, since
  // nothing is written for each use. What is not here nothing asked for.
  std::map<Sha256Digest, std::int64_t> last_used;
  std::vector<KernelKey> pins;     // ascending
  std::optional<SizeLimit> limit;  // that publishers keep
};

struct SweepOptions {
  bool dry_run = false;                 // nothing is changed; the report is what a sweep would remove now
  std::optional<SizeLimit> limit = {};  // nullopt: that of the home; where it has none nothing is evicted
  // Imported folders may be evicted too, each in whole; otherwise they neither count nor go.
  bool imports = false;
};

// What a sweep removes.
struct SweepReport {
  std::uint64_t entries = 0;  // whose image is gone
  std::uint64_t files = 0;    // left over, or images that nothing names
  std::uint64_t bytes = 0;    // of those files

  // For the limit, what was not used for longest first.
  CubinRecords evicted;
  std::vector<std::uint64_t> evicted_imports;  // their numbers
  std::uint64_t evicted_bytes = 0;
  std::uint64_t kept_bytes = 0;    // of what the limit is of: what is left, of which
  std::uint64_t pinned_bytes = 0;  // are pinned, and
  std::uint64_t recent_bytes = 0;  // were published or used within the last hour: neither goes
};

// The local store: content-addressed cubin files, one record file a build and one file an imported folder are
// the truth; the SQLite index is a copy of the records that spares reading them one by one.
//
// Layout of the home (docs/formats/registry.md):
//   cubins/<2 hex>/<64 hex>.cubin    named by SHA-256
//   imports/<number>.import          what is known of an imported folder
//   records/<0 to 3>/<16 hex hash of the kernel>-<32 hex of the record's SHA-256>.record
//   downloads/  channels/            what came from servers, by digest, and what their channels named
//   tuning                           what was measured on devices
//   locks/  quarantine/  pins/  uses  limit  index.sqlite
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

  // For those who import folders, and those who ask servers; both live as long as the home.
  virtual Imports& imports() = 0;
  virtual Downloads& downloads() = 0;

  virtual Result<HomeStats> stats() = 0;
  // Reads and checks everything; changes nothing.
  // An index that is locked, or of another version, is no finding: the log says that it was not checked.
  virtual Result<VerifyReport> verify() = 0;
  // Sets right what verify() finds: damaged records, imports and images are set aside, entries without an
  // image removed, and the index is made anew from the record files, which are the report's entries. Strays
  // are for sweep().
  virtual Result<VerifyReport> repair() = 0;
  // Removes temporary files older than an hour, downloads older than a month, images that nothing names,
  // records whose image is gone, and those of a build that another record of it took over; then, for a limit,
  // what was not used for longest. Removes no image while some record or import cannot be read, or a folder
  // is being imported. A dry run may count the image of an entry that is just being published.
  virtual Result<SweepReport> sweep(const SweepOptions& options = {}) = 0;

  // Builds of this key, those of later too, and an import that has one, are never evicted.
  virtual Result<void> pin(KernelKey key) = 0;
  virtual Result<bool> unpin(KernelKey key) = 0;  // false when it was not pinned
  // What publishers keep from now on, whoever they are: one of them sweeps when it is exceeded. nullopt:
  // none. invalid_argument unless low <= high.
  virtual Result<void> set_limit(const std::optional<SizeLimit>& limit) = 0;
};

}  // namespace cubinet
