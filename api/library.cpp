// SPDX-License-Identifier: Apache-2.0
#include "library.hpp"

#include "shared_images.hpp"

#include <cubinet/base/sink_scope.hpp>

#include <algorithm>
#include <cerrno>

namespace cubinet {
namespace {

// Returns whether this is a server that does not answer. Such a store must not stop requests that
// other stores can serve.
bool is_unreachable(const Store& store, const Error& error) {
  return store.description().remote && error.code == ErrorCode::unavailable;
}

}  // namespace

void KernelBuilds::add(std::shared_ptr<const CubinRecord> record, const Store& store, std::size_t number) {
  candidates.push_back(BuildCandidate::of(*record, number));
  candidates.back().preferred = store.prefers(*record);
  records.push_back(std::move(record));
}

bool is_refused(const CubinRecord& record, const CubinRecords& refused) {
  return std::any_of(refused.begin(), refused.end(), [&](const auto& other) {
    return other->digest == record.digest && other->kind == record.kind && other->target == record.target &&
           other->entry_points == record.entry_points;
  });
}

Library::Library(std::vector<std::shared_ptr<Store>> stores, LogSink log,
                 std::vector<std::shared_ptr<BuildCache>> caches)
    : memory_(make_memory_store()), caches_(std::move(caches)), log_(std::move(log)) {
  stores_.push_back(memory_);
  for (auto& store : stores) {
    if (store == nullptr) continue;
    auto takes = store->description().writable ? std::dynamic_pointer_cast<WritableStore>(store) : nullptr;
    if (takes != nullptr) writable_.push_back(std::move(takes));
    if (const std::string& reason = store->description().why_read_only; !reason.empty() && !read_only_)
      read_only_ = Error{ErrorCode::unavailable, reason, "name another folder with `HomeOptions::path`"};
    stores_.push_back(std::move(store));
  }
  for (const auto& store : stores_)
    tables_.push_back(row_table_of(*store));
  std::erase(caches_, nullptr);
  counted_ = std::vector<Counted>(stores_.size());
  cache_counted_ = std::vector<Counted>(caches_.size());
}

template <class Query>
Result<KernelBuilds> Library::query_stores(OnFailure reaction, const Query& query) {
  if (reaction == OnFailure::fail) CUBINET_TRY(SinkScope::check_outside("list kernels"));
  KernelBuilds builds;
  for (std::size_t number = 0; number < stores_.size(); ++number) {
    Store& store = *stores_[number];
    Result<CubinRecords> answered = query(store);
    if (!answered && reaction == OnFailure::fail && !is_unreachable(store, answered.error()))
      return std::move(answered).error();
    if (!answered) {
      log_skipped_store(number, answered.error());
      builds.failed.push_back({number, std::move(answered).error()});
      continue;
    }
    counted_[number].failure_logged.store(false, std::memory_order_relaxed);
    for (auto& record : *answered)
      builds.add(std::move(record), store, number);
  }
  return builds;
}

// Logged once until it answers again, because it is queried for each kernel.
void Library::log_skipped(Counted& counted, const std::string& name, const Error& error) {
  log(log_, counted.failure_logged.exchange(true) ? LogLevel::debug : LogLevel::warning,
      name + " skipped: " + error.to_line());
}

void Library::log_skipped_store(std::size_t number, const Error& error) {
  const StoreDescription& description = stores_[number]->description();
  log_skipped(counted_[number], description.kind + " " + description.place, error);
}

KernelBuilds Library::candidates(const KernelId& kernel) {
  KernelBuilds builds = *query_stores(OnFailure::skip, [&](Store& store) { return store.find(kernel); });
  for (Counted& counted : counted_)
    counted.asked.fetch_add(1, std::memory_order_relaxed);
  // The builds of one store are contiguous.
  for (std::size_t i = 0; i < builds.candidates.size(); ++i) {
    const std::size_t store = builds.candidates[i].store;
    if (i == 0 || builds.candidates[i - 1].store != store)
      counted_[store].found.fetch_add(1, std::memory_order_relaxed);
  }
  return builds;
}

std::vector<UnreadableBuilds> Library::unreadable(const KernelId& kernel, const KernelBuilds& builds) {
  std::vector<UnreadableBuilds> unreadable = builds.failed;
  for (std::size_t number = 0; number < stores_.size(); ++number) {
    for (Error& error : stores_[number]->unreadable(kernel))
      unreadable.push_back({number, std::move(error)});
  }
  std::stable_sort(unreadable.begin(), unreadable.end(),
                   [](const auto& a, const auto& b) { return a.store < b.store; });
  return unreadable;
}

Result<KernelBuilds> Library::all_of(const KernelId& kernel) {
  return query_stores(OnFailure::fail, [&](Store& store) { return store.find(kernel); });
}

Result<KernelBuilds> Library::with_key(KernelKey key) {
  return query_stores(OnFailure::fail, [&](Store& store) { return store.find_key(key); });
}

Result<KernelBuilds> Library::with_function(std::string_view symbol) {
  return query_stores(OnFailure::fail, [&](Store& store) { return store.find_function(symbol); });
}

Result<KernelBuilds> Library::all() {
  return query_stores(OnFailure::fail, [](Store& store) { return store.list(); });
}

CubinRecords Library::listed_here() {
  CubinRecords records;
  for (const auto& store : stores_) {
    if (store->description().remote) continue;
    if (auto listed = store->list()) records.insert(records.end(), listed->begin(), listed->end());
  }
  return records;
}

std::optional<FoundCubin> Library::choose(const KernelBuilds& builds, const BuildRequest& build_request,
                                          const CubinRecords& refused, SharedImages* images) {
  // Skipping a build does not change the order of the others, so the builds are judged only once.
  for (const Judgement& judgement : judge(build_request, builds.candidates)) {
    if (!judgement.usable()) break;
    const auto& record = builds.records[judgement.candidate];
    if (is_refused(*record, refused)) continue;
    const std::size_t store = builds.candidates[judgement.candidate].store;
    const auto read = [&] { return stores_[store]->load(record); };
    auto cubin = images == nullptr ? read() : images->get(record, store, read);
    const KernelSource source = source_of(*record, store);
    if (cubin && *cubin) {
      counted_[store].used.fetch_add(1, std::memory_order_relaxed);
      return FoundCubin{**std::move(cubin), source};
    }
    // The store has logged the damage.
    if (!cubin) {
      log(log_, LogLevel::error,
          std::string(to_string(source)) + " entry skipped: " + cubin.error().to_line());
    }
  }
  return std::nullopt;
}

std::optional<Library::CachedBuild> Library::find_build(const KernelIdentity& identity, ImageKind kind,
                                                        const BuildFingerprint& fingerprint) {
  for (std::size_t number = 0; number < caches_.size(); ++number) {
    BuildCache& cache = *caches_[number];
    Counted& counted = cache_counted_[number];
    counted.asked.fetch_add(1, std::memory_order_relaxed);
    auto cubin = cache.find_build(identity, kind, fingerprint);
    if (!cubin) {
      log_skipped(counted, "cache " + cache.place(), cubin.error());
      continue;
    }
    counted.failure_logged.store(false, std::memory_order_relaxed);
    if (!*cubin) continue;
    counted.found.fetch_add(1, std::memory_order_relaxed);
    counted.used.fetch_add(1, std::memory_order_relaxed);
    return CachedBuild{{**std::move(cubin), KernelSource::server}, cache.place()};
  }
  return std::nullopt;
}

void Library::share(const Cubin& cubin) {
  for (const auto& cache : caches_)
    cache->share(cubin);
}

Result<std::vector<std::shared_ptr<const StoredRows>>> Library::rows() {
  CUBINET_TRY(SinkScope::check_outside("read the rows of the stores"));
  const auto none = std::make_shared<const StoredRows>();
  std::vector<std::shared_ptr<const StoredRows>> rows(stores_.size(), none);
  for (std::size_t number = 0; number < stores_.size(); ++number) {
    if (tables_[number] == nullptr) continue;
    auto answered = tables_[number]->rows();
    if (answered) {
      rows[number] = *std::move(answered);
    } else if (is_unreachable(*stores_[number], answered.error())) {
      log_skipped_store(number, answered.error());
    } else {
      return std::move(answered).error();
    }
  }
  return rows;
}

// Measurements only affect choices, so a store that fails is logged.
TuningTable Library::tuning() {
  TuningTable all;
  for (std::size_t number = 0; number < stores_.size(); ++number) {
    if (tables_[number] == nullptr) continue;
    const auto answered = tables_[number]->tuning();
    if (answered) {
      all.merge(*answered);
    } else {
      log_skipped_store(number, answered.error());
    }
  }
  return all;
}

std::uint64_t Library::changes() const {
  std::uint64_t all = 0;
  for (const RowTable* table : tables_)
    if (table != nullptr) all += table->changes();
  return all;
}

bool Library::is_in_read_only_store(const KernelBuilds& builds, const CubinRecord& record) const {
  for (std::size_t i = 0; i < builds.records.size(); ++i) {
    const CubinRecord& there = *builds.records[i];
    if (there.kind == record.kind && there.identity == record.identity && there.digest == record.digest &&
        !stores_[builds.candidates[i].store]->description().writable)
      return true;
  }
  return false;
}

StoreUses Library::Counted::uses(std::uint64_t bytes) const {
  return {asked.load(std::memory_order_relaxed), found.load(std::memory_order_relaxed),
          used.load(std::memory_order_relaxed), bytes};
}

std::vector<StoreUses> Library::uses() const {
  std::vector<StoreUses> uses;
  uses.reserve(stores_.size() + caches_.size());
  for (std::size_t number = 0; number < stores_.size(); ++number)
    uses.push_back(counted_[number].uses(stores_[number]->fetched_bytes()));
  for (std::size_t number = 0; number < caches_.size(); ++number)
    uses.push_back(cache_counted_[number].uses(caches_[number]->fetched_bytes()));
  return uses;
}

Result<KernelSource> Library::publish(const Cubin& cubin) {
  std::optional<Error> reason = read_only_;
  for (const auto& store : writable_) {
    auto published = store->publish(cubin);
    if (published) return store->description().source;
    if (!reason) reason = published.error();
  }
  if (reason) return *std::move(reason);
  CUBINET_TRY(memory_->publish(cubin));
  return KernelSource::memory;
}

KernelSource Library::keep(const Cubin& cubin, std::unique_ptr<BuildLock> lock) {
  auto kept = publish(cubin);
  // The lock holds a file descriptor, and there may be no other.
  if (!kept && lock != nullptr && kept.error().native == EMFILE) {
    lock = nullptr;
    kept = publish(cubin);
  }
  if (kept) return *kept;
  const LogLevel level = memory_only_logged_.exchange(true) ? LogLevel::debug : LogLevel::warning;
  log(log_, level, "new kernels are kept in memory only: " + kept.error().to_line());
  const auto published = memory_->publish(cubin);
  if (!published) log(log_, LogLevel::warning, "not kept: " + published.error().to_line());
  return KernelSource::memory;
}

std::unique_ptr<BuildLock> Library::lock_for_build(const KernelIdentity& identity,
                                                   const BuildFingerprint& fingerprint) {
  if (writable_.empty()) return nullptr;
  auto locked = writable_.front()->lock_for_build(identity, fingerprint);
  if (locked) return *std::move(locked);
  log(log_, LogLevel::warning, "building without the lock: " + locked.error().to_line());
  return nullptr;
}

KernelSource Library::source_of(const CubinRecord& record, std::size_t store) const {
  const KernelSource source = stores_[store]->description().source;
  const bool is_import = source == KernelSource::registry && record.origin == CubinOrigin::imported;
  return is_import ? KernelSource::imported : source;
}

}  // namespace cubinet
