// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/runtime.hpp>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace cubinet {

// Builds that were found for one request and did not load: those that the driver refused, and those whose
// record lies about the image.
class RefusedBuilds {
 public:
  void add(std::shared_ptr<const CubinRecord> record) { records_.push_back(std::move(record)); }
  // The same bytes are refused again, unless their record says other things of them.
  bool contains(const CubinRecord& record) const;
  // Whether one of them is the local build that a compilation would give once more.
  bool contains_build(const KernelIdentity& identity, ImageKind kind, const BuildFingerprint& today) const;

 private:
  std::vector<std::shared_ptr<const CubinRecord>> records_;
};

// What one look-up for one target needs to know.
struct LayerQuery {
  KernelIdentity identity;
  ImageKind kind = ImageKind::cubin;
  std::uint32_t interface_version = 0;
  // What would be built now. nullopt without a compiler, and when the compiler cannot tell (a header that
  // cannot be read): then no local build counts as current.
  std::optional<BuildFingerprint> fingerprint;
  bool compiler_found = false;
  const RefusedBuilds* refused = nullptr;  // passed over by find(); may be null
};

// Everywhere a cubin can lie at rest: this process's memory, the local registry, the bundles. Thread-safe.
//
// Within one target: a local build with today's fingerprint, then the newest bundle's entry whose interface
// version fits (imported into the registry or in an attached bundle; equal versions: the smaller fingerprint,
// so that the choice never depends on arrival), then, only where there is no compiler, a local build whose
// interface version fits.
class CubinLayers {
 public:
  CubinLayers(std::unique_ptr<Registry> registry, std::vector<std::shared_ptr<const Bundle>> bundles,
              LogSink log)
      : registry_(std::move(registry)), bundles_(std::move(bundles)), log_(std::move(log)) {}

  // The verified bytes, the time left for the caller to fill in; nullopt is a miss. What is damaged or cannot
  // be read is logged and passed over.
  std::optional<FoundCubin> find(const LayerQuery& query);

  // Keeps a build: in the registry, or in memory where there is none or it cannot take it (logged). Says
  // where.
  KernelSource keep(const Cubin& cubin);

  // Every build of this identity, in the order in which find() would take them.
  std::vector<ExplainedCandidate> explain(const LayerQuery& query);

  // Every record that the registry and the bundles hold, of whatever kernel.
  std::vector<std::shared_ptr<const CubinRecord>> all_records();

  // "2 other builds are stale: …": what the layers hold of this identity and why none of it was used. For
  // messages.
  std::string explain_miss(const LayerQuery& query);

  Registry* registry() { return registry_.get(); }

 private:
  struct Candidate {
    std::shared_ptr<const CubinRecord> record;
    const Bundle* bundle = nullptr;  // nullptr: in the registry
  };
  std::vector<Candidate> candidates(const LayerQuery& query);
  std::optional<Cubin> load(const Candidate& candidate);
  std::optional<Cubin> find_in_memory(const LayerQuery& query) const;

  std::unique_ptr<Registry> registry_;
  std::vector<std::shared_ptr<const Bundle>> bundles_;
  LogSink log_;
  mutable std::mutex mutex_;
  std::map<std::pair<ImageKind, Bytes>, Cubin> memory_;  // the newest build of each kernel
  bool told_ = false;                                    // that builds are kept in memory only
};

}  // namespace cubinet
