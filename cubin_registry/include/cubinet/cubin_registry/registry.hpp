// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/file_system.hpp>
#include <cubinet/base/log.hpp>
#include <cubinet/base/result.hpp>
#include <cubinet/cubin_registry/artifact_store.hpp>
#include <cubinet/kernel_table/kernel_row.hpp>
#include <cubinet/spec/cubin.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cubinet {

struct RegistryOptions {
  std::filesystem::path home;
  std::shared_ptr<FileSystem> files = posix_file_system();
  LogSink log;
  enum class Access { read_write, read_only };
  Access access = Access::read_write;
};

struct RegistryStats {
  std::uint64_t entries = 0;
  std::uint64_t cubins = 0;  // distinct images
  std::uint64_t cubin_bytes = 0;
  std::uint64_t quarantined = 0;  // files set aside
  std::uint64_t imports = 0;      // folders of published cubins
  std::uint64_t imported_rows = 0;
  std::uint64_t imported_plain = 0;
  std::uint64_t imported_files = 0;
  std::uint64_t imported_bytes = 0;
  std::string sqlite_version;  // of the library at run time, which decides the journal mode
  std::string journal_mode;    // of the index: "delete", or "wal" where the library has no WAL-reset bug
};

struct RegistryFinding {
  enum class Kind {
    damaged_cubin,
    missing_cubin,
    damaged_record,
    unindexed_record,
    stray_file,
    damaged_index,
    damaged_import,
    unindexed_import,
    damaged_artifact,
    missing_artifact
  };
  Kind kind = Kind::damaged_cubin;
  std::filesystem::path file;  // relative to the home; absolute where it is of a folder used in place
  std::string reason;
};
std::string_view to_string(RegistryFinding::Kind kind);

struct VerifyReport {
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;
  std::vector<RegistryFinding> findings;  // empty: all is well
};

// What a sweep removes.
struct SweepReport {
  std::uint64_t entries = 0;  // whose image is gone
  std::uint64_t files = 0;    // left over, or images that nothing names
  std::uint64_t bytes = 0;    // of those files
};
enum class SweepMode { remove, count };

// Held by whoever builds one kernel, so that processes that want the same one wait and then find it. Released
// by destruction, and by the kernel when its owner dies.
class BuildLock {
 public:
  virtual ~BuildLock() = default;
};

// The local store: content-addressed cubin files and one record file an entry are the truth; the SQLite index
// is derived from them and rebuilt when it is missing or damaged. Entries are one per (identity,
// fingerprint).
//
// Layout of the home (docs/formats/registry.md):
//   cubins/<2 hex>/<64 hex>.cubin    named by SHA-256
//   artifacts/<2 hex>/<64 hex>.cubin the same, of imported folders; may have other names
//   imports/<number>.import          what is known of an imported folder
//   records/<2 hex>/<16 hex key>-<32 hex of SHA-256 over encoding and fingerprint>.record
//   locks/  quarantine/  index.sqlite
//
// Thread-safe; any number of processes may share a home. Nothing it holds is trusted before it is checked: an
// image is verified against its digest on every read into memory, and a damaged one is moved to quarantine/,
// logged, and reported as a miss.
//
// A home that exists and cannot be written is opened all the same: it serves, and whatever would change it is
// unavailable. In a process forked after open() every call but the destructor is unavailable.
class Registry {
 public:
  // Creates the home when access is read_write. untrusted when the home belongs to another user or can be
  // written by group or others; unavailable when it cannot be created or, read-only, does not exist.
  static Result<std::unique_ptr<Registry>> open(const RegistryOptions& options);
  virtual ~Registry() = default;

  virtual const std::filesystem::path& home() const = 0;

  // The records of one identity, newest first. A miss is an empty list.
  virtual Result<std::vector<std::shared_ptr<const CubinRecord>>> find(const KernelIdentity& identity) = 0;
  // All records whose key is `key`, whatever they encode (for people: `registry show KEY`).
  virtual Result<std::vector<std::shared_ptr<const CubinRecord>>> find_key(KernelKey key) = 0;
  // The verified image of a record; nullopt when it is gone or was damaged (then it has been quarantined).
  virtual Result<std::optional<Cubin>> load(std::shared_ptr<const CubinRecord> record) = 0;

  // Makes the entry durable, then visible: temporary file, fsync, rename, fsync of the folder; cubin, record,
  // index in this order. REQUIRES: the record's digest and size are the image's (invalid_argument otherwise;
  // checked). An entry that is there and whole is left as it is: builds of one fingerprint are
  // interchangeable. A damaged one is replaced, and so is a bundle's by a local build or by a newer bundle's.
  // busy when the home is locked for more than 10 s.
  virtual Result<void> publish(const Cubin& cubin) = 0;
  // Removes one entry, and its image when no other entry uses it. False when there was none.
  virtual Result<bool> remove(const CubinRecord& record) = 0;
  // The same for many, under one lock and with one look at the records that stay; how many there were. An
  // error leaves the entries before the failing one removed.
  virtual Result<std::uint64_t> remove(const std::vector<std::shared_ptr<const CubinRecord>>& records) = 0;

  // Waits until nobody else in any process builds this identity and fingerprint; busy after 10 minutes. The
  // caller looks again before it builds. A home that cannot be locked gives a lock that keeps nobody out.
  virtual Result<std::unique_ptr<BuildLock>> lock_for_build(const KernelIdentity& identity,
                                                            const BuildFingerprint& fingerprint) = 0;

  virtual Result<std::vector<std::shared_ptr<const CubinRecord>>> list() = 0;  // by template, then key
  // Folders of published cubins that this home knows. Lives as long as the registry.
  virtual ArtifactStore& artifacts() = 0;
  // Every row of the table of kernels: of compiled entries and of bundles' whose template declares one, and
  // of imports. Provenance is filled in but for `stale`, which takes a compiler's word; conflicts are not
  // resolved.
  virtual Result<std::vector<KernelRow>> kernel_rows() = 0;

  virtual Result<RegistryStats> stats() = 0;
  // Reads and checks everything; changes nothing.
  // An index that is locked, or of another version, is no finding: the log says that it was not checked.
  virtual Result<VerifyReport> verify() = 0;
  // Derives the index anew from the record files, setting damaged ones aside; returns what it indexed.
  virtual Result<std::uint64_t> rebuild() = 0;
  // Removes temporary files older than an hour, images that no record names, and records whose image is gone.
  // Removes no image while some record cannot be read. With SweepMode::count nothing is changed, and the
  // report is what a sweep would remove now; of an entry that is just being published it may count the image.
  virtual Result<SweepReport> sweep(SweepMode mode) = 0;
  // Removes; returns the bytes freed.
  Result<std::uint64_t> sweep();
};

}  // namespace cubinet
