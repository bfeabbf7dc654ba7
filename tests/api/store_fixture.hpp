// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "library.hpp"
#include "support/fake_cubin.hpp"

#include <cubinet/kernel_table/row_codec.hpp>

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <vector>

namespace cubinet::test {

// A store of the tests, as a program may add one from outside. It keeps builds in memory, describes
// itself as configured, and fails if configured to.
class ShelfStore final : public WritableStore, public RowTable {
 public:
  explicit ShelfStore(KernelSource source = KernelSource::registry, std::string place = "/shelf",
                      bool writable = true)
      : description_{.kind = "shelf",
                     .place = std::move(place),
                     .source = source,
                     .writable = writable,
                     .remote = source == KernelSource::server} {}

  // Describes a home that was opened for writing and cannot be written.
  void describe_read_only(std::string reason) { description_.why_read_only = std::move(reason); }

  // Adds a build even if the store does not accept builds.
  void put(const Cubin& cubin) { REQUIRE(kept_->publish(cubin)); }

  const StoreDescription& description() const override { return description_; }
  Result<CubinRecords> find(const KernelId& kernel) override {
    ++questions;
    if (silent || lists_only) return silence();
    return kept_->find(kernel);
  }
  std::vector<Error> unreadable(const KernelId&) override { return torn; }
  Result<CubinRecords> find_key(KernelKey key) override {
    return silent ? Result<CubinRecords>(silence()) : kept_->find_key(key);
  }
  Result<CubinRecords> find_function(std::string_view symbol) override {
    return silent ? Result<CubinRecords>(silence()) : kept_->find_function(symbol);
  }
  Result<CubinRecords> list() override { return silent ? Result<CubinRecords>(silence()) : kept_->list(); }
  Result<std::shared_ptr<const StoredRows>> rows() override {
    if (silent) return silence();
    return row_table_of(*kept_)->rows();
  }
  Result<TuningTable> tuning() override {
    return silent ? Result<TuningTable>(silence()) : row_table_of(*kept_)->tuning();
  }
  Result<void> add_tuning(const TuningTable& table) override {
    return row_table_of(*kept_)->add_tuning(table);
  }
  Result<std::optional<Cubin>> load(std::shared_ptr<const CubinRecord> record) override {
    if (lost.contains(record->digest)) return std::optional<Cubin>();
    if (damaged.contains(record->digest)) return Error{ErrorCode::corruption, "damaged on the shelf"};
    return kept_->load(std::move(record));
  }
  Result<void> publish(const Cubin& cubin) override {
    ++published;
    if (full) return Error{ErrorCode::unavailable, "the shelf is full"};
    if (no_descriptor) return io_error("cannot open the shelf", EMFILE);
    return kept_->publish(cubin);
  }
  Result<std::uint64_t> remove(const CubinRecords& records) override { return kept_->remove(records); }
  Result<std::unique_ptr<BuildLock>> lock_for_build(const KernelIdentity& identity,
                                                    const BuildFingerprint& fingerprint) override {
    return kept_->lock_for_build(identity, fingerprint);
  }

  bool silent = false;         // if true, answers no query
  bool lists_only = false;     // if true, answers no query for one kernel
  bool full = false;           // if true, accepts no builds
  bool no_descriptor = false;  // if true, publish() fails with EMFILE
  std::set<Sha256Digest> lost;
  std::set<Sha256Digest> damaged;
  std::vector<Error> torn = {};  // the entries that no query reads
  int questions = 0;
  int published = 0;

 private:
  Error silence() const {
    return Error{description_.remote ? ErrorCode::unavailable : ErrorCode::io, "the shelf does not answer"};
  }

  StoreDescription description_;
  std::shared_ptr<WritableStore> kept_ = make_memory_store();
};

// A build cache that records the builds it is asked for and receives.
class ShelfCache final : public BuildCache {
 public:
  const std::string& place() const override { return place_; }
  Result<std::optional<Cubin>> find_build(const KernelIdentity& identity, ImageKind kind,
                                          const BuildFingerprint& fingerprint) override {
    ++asked;
    if (silent) return Error{ErrorCode::unavailable, "the cache does not answer"};
    for (const Cubin& cubin : candidates) {
      const CubinRecord& record = *cubin.record;
      if (record.identity == identity && record.kind == kind && record.fingerprint == fingerprint)
        return std::optional(cubin);
    }
    return std::optional<Cubin>();
  }
  void share(const Cubin& cubin) override { candidates.push_back(cubin); }

  bool silent = false;  // if true, answers no query
  int asked = 0;
  std::vector<Cubin> candidates;

 private:
  std::string place_ = "https://host/cache";
};

// A build that differs from others in its word and in the other fields that decide between builds.
struct ShelfBuild {
  KernelSpec spec = KernelSpec{"scale", {}}.set("width", 8);
  SmTarget target{9, 0, TargetKind::specific};
  std::string word = "today";  // determines the fingerprint and the bytes
  CubinOrigin origin = CubinOrigin::compiled;
  std::uint64_t version = 0;
  std::uint32_t interface_version = 1;
  ImageKind kind = ImageKind::cubin;
  std::string symbol = "kernel";
  bool has_row = false;

  Cubin make() const {
    Cubin cubin = make_cubin(spec, {}, word);
    // The bytes are never loaded. They only have to differ between builds.
    const std::string bytes = spec.to_string() + target.to_string() + word + std::to_string(version) +
                              std::to_string(static_cast<int>(origin)) +
                              std::to_string(static_cast<int>(kind));
    auto image = std::make_shared<Bytes>(as_bytes(bytes).begin(), as_bytes(bytes).end());
    CubinRecord record = *cubin.record;
    record.identity = identify(spec, target);
    record.target = target;
    record.kind = kind;
    record.origin = origin;
    record.version = version;
    record.interface_version = interface_version;
    record.digest = sha256(*image);
    record.size = image->size();
    record.entry_points.front().name = symbol;
    record.entry_points.front().symbol = symbol;
    if (has_row) record.row = row_bytes();
    return {std::make_shared<const CubinRecord>(std::move(record)), std::move(image)};
  }

 private:
  Bytes row_bytes() const {
    if (spec.maker == KernelMaker::publisher) return identify(spec).encoding();
    KernelRow row;
    row.implementation = spec.name;
    return encode_row(row);
  }
};

inline std::string digest_of(const std::optional<FoundCubin>& found) {
  return found ? found->cubin.record->digest.to_hex() : "none";
}

inline std::string digest_of(const ShelfBuild& build) {
  return build.make().record->digest.to_hex();
}

}  // namespace cubinet::test
