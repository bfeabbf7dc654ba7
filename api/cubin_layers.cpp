// SPDX-License-Identifier: Apache-2.0
#include "cubin_layers.hpp"

#include <algorithm>

namespace cubinet {
namespace {

enum class Rank { current_build, bundle, build_without_compiler, unusable };

Rank rank_of(const CubinRecord& record, bool in_bundle_file, const LayerQuery& query) {
  const bool fits = record.interface_version == query.interface_version;
  if (in_bundle_file || record.origin == CubinOrigin::bundle) return fits ? Rank::bundle : Rank::unusable;
  if (query.fingerprint) {
    return record.fingerprint == *query.fingerprint ? Rank::current_build : Rank::unusable;
  }
  return fits && !query.compiler_found ? Rank::build_without_compiler : Rank::unusable;
}

bool is_refused(const CubinRecord& record, const LayerQuery& query) {
  return query.refused != nullptr && query.refused->contains(record);
}

std::string verdict_of(const CubinRecord& record, Rank rank, const LayerQuery& query) {
  switch (rank) {
    case Rank::current_build:
      return "a local build that would be the same today";
    case Rank::bundle:
      return "from a bundle, of the interface version that the template has";
    case Rank::build_without_compiler:
      return "a local build; there is no compiler here to tell whether it is current";
    case Rank::unusable:
      break;
  }
  if (record.interface_version != query.interface_version) {
    return "of interface version " + std::to_string(record.interface_version) + ", the template has " +
           std::to_string(query.interface_version);
  }
  return "stale: built by another compiler, or from another text of the template, headers or options";
}

}  // namespace

bool RefusedBuilds::contains(const CubinRecord& record) const {
  return std::any_of(records_.begin(), records_.end(), [&](const auto& refused) {
    return refused->digest == record.digest && refused->kind == record.kind &&
           refused->target == record.target && refused->entry_points == record.entry_points;
  });
}

bool RefusedBuilds::contains_build(const KernelIdentity& identity, ImageKind kind,
                                   const BuildFingerprint& today) const {
  return std::any_of(records_.begin(), records_.end(), [&](const auto& refused) {
    return refused->origin == CubinOrigin::compiled && refused->kind == kind &&
           refused->fingerprint == today && refused->identity == identity;
  });
}

std::vector<CubinLayers::Candidate> CubinLayers::candidates(const LayerQuery& query) {
  std::vector<Candidate> candidates;
  if (registry_ != nullptr) {
    // A registry that cannot answer must not stop the caller: what it holds can be built again.
    const auto records = registry_->find(query.identity);
    if (!records) log(log_, LogLevel::warning, "registry passed over: " + records.error().to_line());
    if (records) {
      for (const auto& record : *records)
        if (record->kind == query.kind) candidates.push_back({record, nullptr});
    }
  }
  for (const auto& bundle : bundles_) {
    for (auto& record : bundle->find(query.identity))
      if (record->kind == query.kind) candidates.push_back({std::move(record), bundle.get()});
  }
  const auto version = [](const Candidate& candidate) {
    return candidate.bundle == nullptr ? candidate.record->version
                                       : candidate.bundle->options().version;
  };
  std::stable_sort(candidates.begin(), candidates.end(), [&](const Candidate& a, const Candidate& b) {
    const Rank rank_a = rank_of(*a.record, a.bundle != nullptr, query);
    const Rank rank_b = rank_of(*b.record, b.bundle != nullptr, query);
    if (rank_a != rank_b) return rank_a < rank_b;
    if (version(a) != version(b)) return version(a) > version(b);
    return a.record->fingerprint < b.record->fingerprint;
  });
  return candidates;
}

std::optional<Cubin> CubinLayers::load(const Candidate& candidate) {
  if (candidate.bundle == nullptr) {
    auto cubin = registry_->load(candidate.record);
    if (cubin) return *std::move(cubin);
    log(log_, LogLevel::warning, "registry entry passed over: " + cubin.error().to_line());
    return std::nullopt;
  }
  auto cubin = candidate.bundle->load(candidate.record);
  if (cubin) return *std::move(cubin);
  log(log_, LogLevel::error, "bundle entry passed over: " + cubin.error().to_line());
  return std::nullopt;
}

std::optional<Cubin> CubinLayers::find_in_memory(const LayerQuery& query) const {
  const std::lock_guard lock(mutex_);
  if (memory_.empty()) return std::nullopt;
  const auto position = memory_.find({query.kind, query.identity.encoding()});
  if (position == memory_.end()) return std::nullopt;
  const CubinRecord& record = *position->second.record;
  if (rank_of(record, false, query) == Rank::unusable || is_refused(record, query)) return std::nullopt;
  return position->second;
}

std::optional<FoundCubin> CubinLayers::find(const LayerQuery& query) {
  if (auto cubin = find_in_memory(query)) {
    return FoundCubin{*std::move(cubin), KernelSource::memory};
  }
  for (const Candidate& candidate : candidates(query)) {
    if (rank_of(*candidate.record, candidate.bundle != nullptr, query) == Rank::unusable) break;
    if (is_refused(*candidate.record, query)) continue;
    auto cubin = load(candidate);
    if (!cubin) continue;
    const auto source = candidate.bundle == nullptr ? KernelSource::registry : KernelSource::bundle;
    return FoundCubin{*std::move(cubin), source};
  }
  return std::nullopt;
}

std::vector<std::shared_ptr<const CubinRecord>> CubinLayers::all_records() {
  std::vector<std::shared_ptr<const CubinRecord>> records;
  if (registry_ != nullptr) {
    auto listed = registry_->list();
    if (listed) {
      records = *std::move(listed);
    } else {
      log(log_, LogLevel::warning, "registry passed over: " + listed.error().to_line());
    }
  }
  for (const auto& bundle : bundles_)
    records.insert(records.end(), bundle->records().begin(), bundle->records().end());
  return records;
}

KernelSource CubinLayers::keep(const Cubin& cubin) {
  if (registry_ != nullptr) {
    const auto published = registry_->publish(cubin);
    if (published) return KernelSource::registry;
    const std::lock_guard lock(mutex_);
    const LogLevel level = std::exchange(told_, true) ? LogLevel::debug : LogLevel::warning;
    log(log_, level, "kept in memory only: " + published.error().to_line());
  }
  const std::lock_guard lock(mutex_);
  memory_.insert_or_assign({cubin.record->kind, cubin.record->identity.encoding()}, cubin);
  return KernelSource::memory;
}

std::vector<ExplainedCandidate> CubinLayers::explain(const LayerQuery& query) {
  std::vector<ExplainedCandidate> explained;
  if (auto cubin = find_in_memory(query)) {
    explained.push_back({KernelSource::memory, {}, cubin->record, true, "built by this process"});
  }
  for (const Candidate& candidate : candidates(query)) {
    ExplainedCandidate& added = explained.emplace_back();
    const bool attached = candidate.bundle != nullptr;
    added.source = attached ? KernelSource::bundle : KernelSource::registry;
    added.place = attached ? candidate.bundle->path() : registry_->home();
    added.record = candidate.record;
    const Rank rank = rank_of(*candidate.record, attached, query);
    added.usable = rank != Rank::unusable;
    added.verdict = verdict_of(*candidate.record, rank, query);
  }
  return explained;
}

std::string CubinLayers::explain_miss(const LayerQuery& query) {
  const auto found = candidates(query);
  std::size_t stale = 0;
  std::size_t foreign_interface = 0;
  for (const Candidate& candidate : found) {
    if (rank_of(*candidate.record, candidate.bundle != nullptr, query) != Rank::unusable) continue;
    const bool fits = candidate.record->interface_version == query.interface_version;
    ++(fits ? stale : foreign_interface);
  }
  std::string text;
  if (stale > 0) text += std::to_string(stale) + " local build(s) by another compiler, template or options";
  if (foreign_interface > 0) {
    if (!text.empty()) text += ", ";
    text += std::to_string(foreign_interface) + " build(s) for another interface version of the template";
  }
  return text;
}

}  // namespace cubinet
