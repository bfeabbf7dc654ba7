// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/log.hpp>
#include <cubinet/base/result.hpp>
#include <cubinet/cubin_registry/store.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

class FileSystem;
class Imports;  // cubin_registry/imports.hpp: how folders come in, are listed and go; what they hold the home
                // answers

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
  std::string sqlite_version;     // of the library at run time
  std::string journal_mode;       // of the index: "delete", or why there is none
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
//   records/<0 to 3>/<16 hex hash of the kernel>-<32 hex of the record's SHA-256>.record
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

  // For those who import folders; lives as long as the home.
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
