// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>
#include <cubinet/kernel_table/kernel_row.hpp>
#include <cubinet/kernel_table/tuning_table.hpp>
#include <cubinet/spec/cubin.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

enum class StoreKind : std::uint8_t { memory, home, bundle, imported, server, cache };
std::string_view to_string(StoreKind kind);  // "memory", "home", "bundle", "imported", "server", "cache"

// A description of a store. Constant while the store is open.
struct StoreDescription {
  StoreKind kind = StoreKind::memory;
  std::string place;      // the folder or file, absolute, or a server's reference; empty for memory
  bool writable = false;  // takes builds: it is a WritableStore
  // The reason if a home was opened for writing and cannot be written; otherwise empty.
  std::string why_read_only = {};
};

// How much a store is good for: look-ups of a kernel, those of them that it had builds for, images that were
// taken from it, and the bytes that came over a network for all of that.
struct StoreUses {
  std::uint64_t asked = 0;
  std::uint64_t found = 0;
  std::uint64_t used = 0;
  std::uint64_t bytes = 0;
};

using CubinRecords = std::vector<std::shared_ptr<const CubinRecord>>;

// A row of the table of kernels and the build that it is of; neither is null. Both are shared with the store
// that has them.
struct StoredRow {
  std::shared_ptr<const KernelRow> row;
  std::shared_ptr<const CubinRecord> record;
};
using StoredRows = std::vector<StoredRow>;

// A place where cubins lie: this process's memory, a home, a bundle file, an imported folder, a server. Which
// of its builds is taken is not for a store to say (judge.hpp).
//
// Thread-safe. Whatever enumerates is complete or fails: an answer never leaves out a build that was
// published before the call and can be read. A damaged entry is no build: it is told to the log, set aside
// where the store may do that, and found by `verify`. In a process forked after the store was opened every
// call but the destructor is unavailable.
class Store {
 public:
  virtual ~Store() = default;

  virtual const StoreDescription& description() const = 0;
  // Bytes that came over a network for its answers since it was opened.
  virtual std::uint64_t fetched_bytes() const { return 0; }
  // Where a build of this store lies, for people: the place, or that of the folder that it was imported from.
  virtual std::string place_of(const CubinRecord& /*record*/) const { return description().place; }

  // Returns true if a channel is pinned to the bundle of this build. Such a build goes before those of other
  // bundles. REQUIRES: this store listed the record.
  virtual bool prefers(const CubinRecord& /*record*/) const { return false; }

  // Every build of a kernel, for every target and of every kind, in no order. A miss is an empty list.
  virtual Result<CubinRecords> find(const KernelId& kernel) = 0;
  // Every build whose key is `key`, and every build that has a function of this name (its symbol; of a
  // source, also as C++ names it) or is of the maker `function` and called so: for those who do not have the
  // specification.
  virtual Result<CubinRecords> find_key(KernelKey key) = 0;
  virtual Result<CubinRecords> find_function(std::string_view name) = 0;
  // Every build, by maker, name, key, then fingerprint.
  virtual Result<CubinRecords> list() = 0;
  // Every attention kernel's row: of compiled and bundled machine code whose template declares one, and of
  // published kernels. The same object for as long as nothing changes.
  virtual Result<std::shared_ptr<const StoredRows>> rows() = 0;
  // What was measured on devices, for those who plan; empty unless said otherwise.
  virtual Result<TuningTable> tuning() { return TuningTable(); }
  // The same for those who hand it on or show it: what tuning() passes over is an error here.
  virtual Result<TuningTable> checked_tuning() { return tuning(); }
  // The verified image of a build that this store listed; nullopt when it is gone or damaged (which is told
  // to the log, and set right where the store may).
  virtual Result<std::optional<Cubin>> load(std::shared_ptr<const CubinRecord> record) = 0;

  // The next two are what a cache that several nodes share is for. It lists nothing, so that a request asks
  // it for one thing alone, just before that would be made: the verified build of this identity, kind and
  // fingerprint. nullopt is a miss.
  virtual Result<std::optional<Cubin>> find_build(const KernelIdentity& /*identity*/, ImageKind /*kind*/,
                                                  const BuildFingerprint& /*fingerprint*/) {
    return std::optional<Cubin>();
  }
  // A build that was made here, for the others. Returns at once: what becomes of it is told to the log.
  virtual void offer(const Cubin& /*cubin*/) {}
};

// Something of a store that is not as it should be.
struct StoreFinding {
  enum class Kind {
    damaged_cubin,
    missing_cubin,
    damaged_record,
    unreadable_file,  // just now, or by this build: nothing is said of what it holds
    stray_file,
    damaged_index,
    damaged_import,
    damaged_tuning,
    conflicting_build  // its bytes are not those of the same build that is there
  };
  Kind kind = Kind::damaged_cubin;
  std::string file;  // relative to the home; absolute where it is of a bundle, or of a folder used in place
  std::string reason;
};
std::string_view to_string(StoreFinding::Kind kind);

struct VerifyReport {
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;
  std::vector<StoreFinding> findings;  // empty: all is well
  // What a repair took away: damaged for good, now in quarantine, or entries without an image. What it could
  // not mend is in `findings`.
  std::vector<StoreFinding> set_aside = {};
};

// Held by whoever builds one kernel, so that processes that want the same one wait and then find it. Released
// by destruction, and by the kernel when its owner dies.
class BuildLock {
 public:
  virtual ~BuildLock() = default;
};

// A store that takes builds.
class WritableStore : public Store {
 public:
  // Makes the build durable, then visible. REQUIRES: the record's digest and size are the image's
  // (invalid_argument otherwise; checked), and the record could be read back. A build that is there and whole
  // is left as it is: builds of one identity, kind and fingerprint are interchangeable. A damaged one is
  // replaced, and so is a bundle's by a local build or by a newer bundle's. An error means that it is not
  // kept. busy when the store is locked for more than 10 s.
  virtual Result<void> publish(const Cubin& cubin) = 0;
  // Removes builds, and images that nothing else uses; how many of them there were. What else is recorded of
  // the same build, and would take its place, goes with it. An error leaves those before the failing one
  // removed.
  virtual Result<std::uint64_t> remove(const CubinRecords& records) = 0;
  // Merges measurements with those that are there: none is lost, whoever adds others at the same time. A
  // place that keeps none is unsupported; a row that could not be read back is invalid_argument, and nothing
  // is written.
  virtual Result<void> add_tuning(const TuningTable& table);
  // Waits until nobody else in any process builds this; busy after 10 minutes. The caller looks again before
  // it builds: those who waited for a build that came all have the lock at once. A place that knows no locks
  // gives a lock that keeps nobody out; one that has them and refuses is an error.
  virtual Result<std::unique_ptr<BuildLock>> lock_for_build(const KernelIdentity& identity,
                                                            const BuildFingerprint& fingerprint) = 0;
};

// Builds of this process alone. Keeps every image that it is given until it is destroyed.
std::shared_ptr<WritableStore> make_memory_store();

}  // namespace cubinet
