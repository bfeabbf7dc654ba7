// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/log.hpp>
#include <cubinet/cubin_registry/judge.hpp>
#include <cubinet/cubin_registry/store.hpp>
#include <cubinet/found_cubin.hpp>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

// The builds of one kernel in the stores: the candidates for the judge and the record of each.
struct KernelBuilds {
  std::vector<BuildCandidate> candidates;
  CubinRecords records;

  // Adds a build of the store with index `number` in the list of stores.
  void add(std::shared_ptr<const CubinRecord> record, const Store& store, std::size_t number);
};

// Returns whether a build equals one that did not load: the same bytes under a record with the same
// facts.
bool is_refused(const CubinRecord& record, const CubinRecords& refused);

// The ordered list of stores, with this process's memory first. Thread-safe. A store that fails is
// logged and does not stop a request for a kernel, because its content can be built again.
// Enumerations return its error, unless it is a server that does not answer.
class Library {
 public:
  Library(std::vector<std::shared_ptr<Store>> stores, LogSink log);

  // Returns the candidates of a request.
  KernelBuilds candidates(const KernelId& kernel);
  // Returns the verified bytes of the build that the judge chooses. The caller fills in the times.
  // Skips refused, missing and damaged builds. nullopt is a miss.
  std::optional<FoundCubin> choose(const KernelBuilds& builds, const BuildRequest& build_request,
                                   const CubinRecords& refused = {});
  // Return every build of a kernel, the builds that match facts without a specification, and all
  // builds. Return an error if a store fails, because an incomplete list could make a name look
  // unique or another build the best.
  Result<KernelBuilds> all_of(const KernelId& kernel);
  Result<KernelBuilds> with_key(KernelKey key);
  Result<KernelBuilds> with_function(std::string_view symbol);
  Result<KernelBuilds> all();

  // Returns one entry for each store, in their order.
  Result<std::vector<std::shared_ptr<const StoredRows>>> rows();
  TuningTable tuning();  // merged from all stores

  // A cache's build that equals the current build.
  struct CachedBuild {
    FoundCubin found;
    std::string place;
  };
  std::optional<CachedBuild> find_build(const KernelIdentity& identity, ImageKind kind,
                                        const BuildFingerprint& fingerprint);
  // Returns the names of the caches that find_build() queries.
  std::vector<std::string> caches() const;
  // Offers a build that was made here to the caches.
  void share(const Cubin& cubin);

  // Returns whether one of `builds` is this build in a bundle or a folder, so it need not be kept
  // again. In a writable store, a damaged build is replaced instead.
  bool lies_where_nothing_is_kept(const KernelBuilds& builds, const CubinRecord& record) const;
  // Keeps a build in the first store that accepts it, or in memory if none does, and returns which.
  // Releases `lock`, which is the build's.
  KernelSource keep(const Cubin& cubin, std::unique_ptr<BuildLock> lock = nullptr);
  // Returns null if no store has locks or the one that has them refuses. The caller then builds
  // without a lock.
  std::unique_ptr<BuildLock> lock_for_build(const KernelIdentity& identity,
                                            const BuildFingerprint& fingerprint);

  KernelSource source_of(const CubinRecord& record, std::size_t store) const;
  const std::vector<std::shared_ptr<Store>>& stores() const { return stores_; }
  std::vector<StoreUses> uses() const;  // counted by requests for a kernel

 private:
  struct Counted {
    std::atomic<std::uint64_t> asked{0};
    std::atomic<std::uint64_t> found{0};
    std::atomic<std::uint64_t> used{0};
    std::atomic<bool> told{false};  // true if its failure was logged
  };
  // The reaction to a store that fails.
  enum class Silence { is_passed_over, fails };
  template <class Question>
  Result<KernelBuilds> ask_all(Silence silence, const Question& question);
  void log_skipped_store(std::size_t number, const Error& error);
  // Publishes a build to the first store that accepts it. Returns the first error if none does.
  Result<KernelSource> publish(const Cubin& cubin);

  std::vector<std::shared_ptr<Store>> stores_;  // memory_ is the first
  std::shared_ptr<WritableStore> memory_;
  std::vector<std::shared_ptr<WritableStore>> writable_;  // of the others
  std::optional<Error> read_only_;                        // the reason if a home cannot be written
  std::vector<Counted> counted_;                          // of stores_
  LogSink log_;
  std::atomic<bool> told_{false};  // true if it was logged that builds are kept in memory only
};

}  // namespace cubinet
