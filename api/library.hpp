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

// The builds of one kernel that the stores held when they were asked: what the judge is handed, and the
// record of each.
struct KernelBuilds {
  std::vector<Offer> offers;
  CubinRecords records;

  // Adds a build of the store, which is number `number` of the list of stores.
  void add(std::shared_ptr<const CubinRecord> record, const Store& store, std::size_t number);
};

// Whether a build is one of those that did not load: the same bytes under a record that says the same of
// them.
bool is_refused(const CubinRecord& record, const CubinRecords& refused);

// Everywhere a cubin can lie at rest: an ordered list of stores, with this process's memory in front.
// Thread-safe. A store that cannot answer is told to the log and does not stop a request for a kernel, since
// what it holds can be built again; an enumeration fails with it, unless it is a server that is out.
class Library {
 public:
  Library(std::vector<std::shared_ptr<Store>> stores, LogSink log);

  // What a request goes by.
  KernelBuilds offers(const KernelId& kernel);
  // The verified bytes of the build that the judge chooses, the times left for the caller to fill in. What
  // was refused, and what is gone or damaged, is passed over; nullopt is a miss.
  std::optional<FoundCubin> choose(const KernelBuilds& builds, const Wish& wish,
                                   const CubinRecords& refused = {});
  // Every build of a kernel, those by what is known of them without its specification, and all there are. An
  // error where a store does not answer: among fewer a name could seem to be of one kernel, or another build
  // the best.
  Result<KernelBuilds> all_of(const KernelId& kernel);
  Result<KernelBuilds> with_key(KernelKey key);
  Result<KernelBuilds> with_function(std::string_view symbol);
  Result<KernelBuilds> all();

  Result<std::vector<std::shared_ptr<const StoredRows>>> rows();  // one a store, in their order
  TuningTable tuning();                                           // of all stores

  // The very build that would be made now, of a cache that has it.
  struct CachedBuild {
    FoundCubin found;
    std::string place;
  };
  std::optional<CachedBuild> find_build(const KernelIdentity& identity, ImageKind kind,
                                        const BuildFingerprint& fingerprint);
  // The places of the caches, which find_build() asks.
  std::vector<std::string> caches() const;
  // Hands a build that was made here to the caches.
  void offer(const Cubin& cubin);

  // Whether one of `builds` is this one, in a bundle or a folder: then it need not be kept once more. In a
  // store that takes builds one that is damaged is replaced.
  bool lies_where_nothing_is_kept(const KernelBuilds& builds, const CubinRecord& record) const;
  // Keeps a build in the first store that accepts it, or in memory if none does, and returns which. Releases
  // `lock`, which is the build's.
  KernelSource keep(const Cubin& cubin, std::unique_ptr<BuildLock> lock = nullptr);
  // Null where no store knows locks, or that which does refuses: then the caller builds without.
  std::unique_ptr<BuildLock> lock_for_build(const KernelIdentity& identity,
                                            const BuildFingerprint& fingerprint);

  KernelSource source_of(const CubinRecord& record, std::size_t store) const;
  const std::vector<std::shared_ptr<Store>>& stores() const { return stores_; }
  std::vector<StoreUses> uses() const;  // by requests for a kernel

 private:
  struct Counted {
    std::atomic<std::uint64_t> asked{0};
    std::atomic<std::uint64_t> found{0};
    std::atomic<std::uint64_t> used{0};
    std::atomic<bool> told{false};  // that it does not answer
  };
  // What follows where a store does not answer.
  enum class Silence { is_passed_over, fails };
  template <class Question>
  Result<KernelBuilds> ask_all(Silence silence, const Question& question);
  void tell_passed_over(std::size_t number, const Error& error);
  // Publishes a build to the first store that accepts it. Returns the first error if none does.
  Result<KernelSource> publish(const Cubin& cubin);

  std::vector<std::shared_ptr<Store>> stores_;  // memory_ is the first
  std::shared_ptr<WritableStore> memory_;
  std::vector<std::shared_ptr<WritableStore>> writable_;  // of the others
  std::optional<Error> read_only_;                        // the reason if a home cannot be written
  std::vector<Counted> counted_;                          // of stores_
  LogSink log_;
  std::atomic<bool> told_{false};  // that builds are kept in memory only
};

}  // namespace cubinet
