// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/log.hpp>
#include <cubinet/cubin_registry/build_cache.hpp>
#include <cubinet/cubin_registry/judge.hpp>
#include <cubinet/cubin_registry/row_table.hpp>
#include <cubinet/cubin_registry/store.hpp>
#include <cubinet/found_cubin.hpp>
#include <cubinet/kernel_explanation.hpp>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

class SharedImages;

// The builds of one kernel in the stores: the candidates for the judge and the record of each.
struct KernelBuilds {
  std::vector<BuildCandidate> candidates;
  CubinRecords records;
  std::vector<UnreadableBuilds> failed;  // one entry for each store that was skipped

  // Adds a build of the store with index `number` in the list of stores.
  void add(std::shared_ptr<const CubinRecord> record, const Store& store, std::size_t number);
};

// Returns whether a build equals one that did not load: the same bytes under a record with the same
// facts.
bool is_refused(const CubinRecord& record, const CubinRecords& refused);

// The ordered list of stores, with this process's memory first, and the shared caches. Thread-safe.
// A store that fails is logged and does not stop a request for a kernel, because its content can be
// built again. Lists return its error, unless it is remote and unreachable.
class Library {
 public:
  Library(std::vector<std::shared_ptr<Store>> stores, LogSink log,
          std::vector<std::shared_ptr<BuildCache>> caches = {});

  // Returns the candidates of a request.
  KernelBuilds candidates(const KernelId& kernel);
  // Returns what candidates() could not read: `builds.failed` and the entries that stores skipped,
  // in the order of the stores.
  std::vector<UnreadableBuilds> unreadable(const KernelId& kernel, const KernelBuilds& builds);
  // Returns the verified bytes of the build that the judge chooses. The caller fills in the times.
  // Skips refused, missing and damaged builds. nullopt is a miss.
  // With `images`, an image that another device has loaded is not read again.
  std::optional<FoundCubin> choose(const KernelBuilds& builds, const BuildRequest& build_request,
                                   const CubinRecords& refused = {}, SharedImages* images = nullptr);
  // Return every build of a kernel, the builds that match facts without a specification, and all
  // builds. Return an error if a store fails, because an incomplete list could make a name look
  // unique or another build the best.
  Result<KernelBuilds> all_of(const KernelId& kernel);
  Result<KernelBuilds> with_key(KernelKey key);
  Result<KernelBuilds> with_function(std::string_view symbol);
  Result<KernelBuilds> all();
  // Returns every build of the stores that are not remote. A store that fails is left out.
  CubinRecords listed_here();

  // Returns one entry for each store, in their order. It is empty for a store without a row table.
  Result<std::vector<std::shared_ptr<const StoredRows>>> rows();
  TuningTable tuning();  // merged from all stores
  // Returns the sum of RowTable::changes() of the stores.
  std::uint64_t changes() const;

  // A cache's build that equals the current build.
  struct CachedBuild {
    FoundCubin found;
    std::string place;
  };
  std::optional<CachedBuild> find_build(const KernelIdentity& identity, ImageKind kind,
                                        const BuildFingerprint& fingerprint);
  // Offers a build that was made here to the caches.
  void share(const Cubin& cubin);

  // Returns whether one of `builds` is this build in a read-only store, so it need not be kept
  // again. In a writable store, a damaged build is replaced instead.
  bool is_in_read_only_store(const KernelBuilds& builds, const CubinRecord& record) const;
  // Keeps a build in the first store that accepts it, or in memory if none does, and returns which.
  // Releases `lock`, which is the build's.
  KernelSource keep(const Cubin& cubin, std::unique_ptr<BuildLock> lock = nullptr);
  // Returns null if no store has locks or the one that has them refuses. The caller then builds
  // without a lock.
  std::unique_ptr<BuildLock> lock_for_build(const KernelIdentity& identity,
                                            const BuildFingerprint& fingerprint);

  KernelSource source_of(const CubinRecord& record, std::size_t store) const;
  const std::vector<std::shared_ptr<Store>>& stores() const { return stores_; }
  const std::vector<std::shared_ptr<BuildCache>>& caches() const { return caches_; }
  // Returns the counters of requests for a kernel: of the stores, then of the caches, in their
  // order.
  std::vector<StoreUses> uses() const;

 private:
  struct Counted {
    std::atomic<std::uint64_t> asked{0};
    std::atomic<std::uint64_t> found{0};
    std::atomic<std::uint64_t> used{0};
    std::atomic<bool> failure_logged{false};

    StoreUses uses(std::uint64_t bytes) const;
  };
  // The reaction to a store that fails.
  enum class OnFailure { skip, fail };
  template <class Query>
  Result<KernelBuilds> query_stores(OnFailure reaction, const Query& query);
  void log_skipped(Counted& counted, const std::string& name, const Error& error);
  void log_skipped_store(std::size_t number, const Error& error);
  // Publishes a build to the first store that accepts it. Returns the first error if none does.
  Result<KernelSource> publish(const Cubin& cubin);

  std::vector<std::shared_ptr<Store>> stores_;  // memory_ is the first
  std::shared_ptr<WritableStore> memory_;
  std::vector<std::shared_ptr<WritableStore>> writable_;  // of the others
  std::vector<RowTable*> tables_;                         // of stores_; null: has none
  std::vector<std::shared_ptr<BuildCache>> caches_;
  std::optional<Error> read_only_;  // the reason if a home cannot be written
  std::vector<Counted> counted_;    // of stores_
  std::vector<Counted> cache_counted_;
  LogSink log_;
  std::atomic<bool> memory_only_logged_{false};  // true if it was logged that builds are kept in memory only
};

}  // namespace cubinet
