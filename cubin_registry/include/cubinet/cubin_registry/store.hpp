// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>
#include <cubinet/spec/cubin.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

// The source of a kernel.
//   process   loaded in this process already
//   memory    built earlier by this Runtime and kept in memory, because no store accepted it
//   registry  a home, or a store of the program
//   bundle    a bundle
//   compiled  compiled for this request
//   imported  a folder of published cubins
//   server    fetched from a server
enum class KernelSource { process, memory, registry, bundle, compiled, imported, server };
std::string_view to_string(KernelSource source);

// A description of a store. Constant while the store is open.
struct StoreDescription {
  std::string kind = {};   // for messages only: "memory", "home", "bundle", "imported", "server"
  std::string place = {};  // the folder or file, absolute, or a server's reference; empty for memory
  // The source that events, counters and explanations report for its builds. Imported builds of a
  // `registry` store are reported as `imported`.
  KernelSource source = KernelSource::registry;
  bool writable = false;  // takes builds: it is a WritableStore
  // If true, the store may be unreachable. The Runtime then logs its error (unavailable) and
  // continues without the store, also where it lists all stores.
  bool remote = false;
  // The reason if a home was opened for writing and cannot be written; otherwise empty.
  std::string why_read_only = {};
};

// The usage counters of one store: lookups of a kernel, those that found builds, images loaded from
// it, and bytes received over a network for all of these.
struct StoreUses {
  std::uint64_t asked = 0;
  std::uint64_t found = 0;
  std::uint64_t used = 0;
  std::uint64_t bytes = 0;
};

using CubinRecords = std::vector<std::shared_ptr<const CubinRecord>>;

// A container of cubins: this process's memory, a home, a bundle file, an imported folder, a
// server. It does not choose between builds (judge.hpp). A store of attention kernels is also a
// RowTable (row_table.hpp). A cache of several nodes is a BuildCache (build_cache.hpp).
//
// Thread-safe. The result of a look-up (find…) and of list() is complete, or the call returns an
// error: the result has every readable build that was published before the call. A damaged entry is
// not a build. It is logged, quarantined if the store may do that, and found by `verify`. In a
// process forked after the store was opened, every call except the destructor returns unavailable.
//
// A KernelId identifies a kernel, a KernelIdentity a kernel on one target, and a KernelKey is the
// 64-bit hash of such an identity (spec/kernel_key.hpp).
class Store {
 public:
  virtual ~Store() = default;

  virtual const StoreDescription& description() const = 0;
  // Returns the bytes received over a network since it was opened.
  virtual std::uint64_t fetched_bytes() const { return 0; }
  // Returns the location of a build as a text for messages: that of the store, or of the folder
  // that the build was imported from.
  virtual std::string place_of(const CubinRecord& /*record*/) const { return description().place; }

  // Returns true if the user pinned the build's channel to a version and the build is from that
  // version. Such builds are preferred to those of other bundles. REQUIRES: this store
  // listed the record.
  virtual bool prefers(const CubinRecord& /*record*/) const { return false; }

  // Returns every build of a kernel, for every target and of every kind, unordered. A miss is an
  // empty list.
  virtual Result<CubinRecords> find(const KernelId& kernel) = 0;
  // Returns an error for each entry of a kernel that find() skips because it cannot be read, with
  // the file, the reason and the remedy. For explanations of a miss.
  virtual std::vector<Error> unreadable(const KernelId& /*kernel*/) { return {}; }
  // Return builds for callers without the specification. find_key() returns every build with this
  // key. find_function() returns every build that has a function of this name (its symbol or, for a
  // source, its C++ name), and every build of a kernel of the maker `function` with this name: a
  // published function, or an image that a user added under it.
  virtual Result<CubinRecords> find_key(KernelKey key) = 0;
  virtual Result<CubinRecords> find_function(std::string_view name) = 0;
  // Returns every build, ordered by maker, name, key, then fingerprint.
  virtual Result<CubinRecords> list() = 0;
  // Returns the verified image of a build that this store listed. Returns nullopt if it is missing
  // or damaged, which is logged and repaired if the store may do that.
  virtual Result<std::optional<Cubin>> load(std::shared_ptr<const CubinRecord> record) = 0;
};

// A defect of a store.
struct StoreFinding {
  enum class Kind {
    damaged_cubin,
    missing_cubin,
    damaged_record,
    // The file cannot be read at present, or by this version of cubinet, so its content is unknown.
    unreadable_file,
    stray_file,
    damaged_index,
    damaged_import,
    damaged_tuning,
    conflicting_build  // the store has this build (identity, kind, fingerprint) with other bytes
  };
  Kind kind = Kind::damaged_cubin;
  std::string file;  // Relative to the home. Absolute for a bundle or a folder used in place.
  std::string reason;
};
std::string_view to_string(StoreFinding::Kind kind);

struct VerifyReport {
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;
  std::vector<StoreFinding> findings;  // empty: no defects
  // The entries that a repair removed: damaged ones, now in quarantine, and those without an image.
  // Defects that it could not repair are in `findings`.
  std::vector<StoreFinding> set_aside = {};
};

// A lock held while one kernel is built, so that other processes that need it wait and then find
// it. Released by the destructor, and by the operating system if its owner dies.
class BuildLock {
 public:
  virtual ~BuildLock() = default;
};

// A store that accepts builds.
class WritableStore : public Store {
 public:
  // Makes the build durable, then visible. If the store has an intact build of the same identity,
  // kind and fingerprint, that one is kept, also if its bytes differ: both were made from the same
  // inputs. There are two exceptions: a local build replaces a bundle's, and a newer bundle's
  // replaces an older one's. A damaged build is replaced. import_bundle() reports other bytes as
  // conflicting_build. If publish() returns an error, the new build is not kept; busy means that
  // the store was locked for more than 10 s. REQUIRES: the record's digest and size are the image's
  // (checked: invalid_argument), and the record survives encoding and decoding.
  virtual Result<void> publish(const Cubin& cubin) = 0;
  // Removes builds, and images that nothing else uses. Returns the number of removed builds. Also
  // removes other records of these builds, for example those of imports, because look-ups would
  // still find them. After an error, the builds before the failing one are removed.
  virtual Result<std::uint64_t> remove(const CubinRecords& records) = 0;
  // Waits until no other thread or process builds this; returns busy after 10 minutes. The caller
  // must look in the store again before it builds, because the previous owner of the lock may have
  // published the build. A store without locks returns a lock that excludes nobody. A store whose
  // lock fails returns an error.
  virtual Result<std::unique_ptr<BuildLock>> lock_for_build(const KernelIdentity& identity,
                                                            const BuildFingerprint& fingerprint) = 0;
};

// Returns a store of this process's builds, which is also a RowTable. It keeps every image until it
// is destroyed.
std::shared_ptr<WritableStore> make_memory_store();

}  // namespace cubinet
