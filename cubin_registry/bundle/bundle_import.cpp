// SPDX-License-Identifier: Apache-2.0
#include "bundle/bundle_verify.hpp"

#include <cubinet/cubin_registry/bundle.hpp>
#include <cubinet/spec/image_check.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace cubinet {
namespace {

// The store's builds of the imported kernels. Queries the store once per kernel, because a kernel
// may have any number of builds.
class BuildsThere {
 public:
  explicit BuildsThere(WritableStore& store) : store_(store) {}

  // Returns the builds with the record's identity, kind and fingerprint.
  Result<CubinRecords> same_as(const CubinRecord& record) {
    if (const ByteView kernel = record.identity.kernel_encoding();
        kernels_.emplace(kernel.begin(), kernel.end()).second) {
      CUBINET_TRY_ASSIGN(const CubinRecords found, store_.find(record.identity.kernel()));
      for (const auto& build : found)
        add(build);
    }
    const auto there = builds_.find(name_of(record));
    return there != builds_.end() ? there->second : CubinRecords();
  }
  // Returns the build of the newest newer bundle that precedes the record, or null. REQUIRES:
  // same_as() was called for the record.
  std::shared_ptr<const CubinRecord> newer_than(const CubinRecord& record) const {
    std::shared_ptr<const CubinRecord> newest;
    if (store_.prefers(record)) return newest;
    const auto newer = newest_.find({record.identity.encoding(), record.kind});
    const bool outranks = newer != newest_.end() && newer->second->version > record.version &&
                          newer->second->interface_version == record.interface_version &&
                          newer->second->template_text == record.template_text &&
                          newer->second->fingerprint != record.fingerprint;
    return outranks ? newer->second : newest;
  }
  void add(const std::shared_ptr<const CubinRecord>& build) {
    if (build->origin == CubinOrigin::imported) return;
    builds_[name_of(*build)].push_back(build);
    if (build->origin != CubinOrigin::bundle) return;
    auto& newest = newest_[{build->identity.encoding(), build->kind}];
    if (newest == nullptr || newest->version < build->version) newest = build;
  }

 private:
  using BuildName = std::tuple<Bytes, ImageKind, BuildFingerprint>;
  static BuildName name_of(const CubinRecord& record) {
    return {record.identity.encoding(), record.kind, record.fingerprint};
  }

  WritableStore& store_;
  std::set<Bytes> kernels_;
  std::map<BuildName, CubinRecords> builds_;
  // The bundle's build with the highest version for each target.
  std::map<std::pair<Bytes, ImageKind>, std::shared_ptr<const CubinRecord>> newest_;
};

class BundleImport {
 public:
  BundleImport(Bundle& bundle, WritableStore& store, OnConflict on_conflict)
      : bundle_(bundle), store_(store), on_conflict_(on_conflict), there_(store) {}

  Result<ImportReport> run(CubinRecords records) {
    CUBINET_TRY_ASSIGN(const TuningTable tuning, bundle_.tuning());
    if (!tuning.empty()) CUBINET_TRY(import(tuning));
    CUBINET_TRY(sort_by_place(records));
    for (const auto& record : records)
      CUBINET_TRY(import(record));
    return std::move(report_);
  }

 private:
  // Sorts by location, so that a frame with several images is unpacked once.
  Result<void> sort_by_place(CubinRecords& records) const {
    std::map<Sha256Digest, std::pair<std::uint64_t, std::uint32_t>> places;
    CUBINET_TRY_ASSIGN(const std::vector<BundleImage> images, bundle_.pack().images());
    for (const BundleImage& image : images)
      places.emplace(image.digest, std::pair(image.frame_offset, image.offset));
    std::stable_sort(records.begin(), records.end(), [&](const auto& a, const auto& b) {
      return places.at(a->digest) < places.at(b->digest);
    });
    return {};
  }

  // The kernels are imported even if the store keeps no measurements.
  Result<void> import(const TuningTable& tuning) {
    RowTable* const table = row_table_of(store_);
    if (table == nullptr) return {};
    const auto added = table->add_tuning(tuning);
    if (added) report_.measurements = tuning.rows().size();
    return added || added.error().code == ErrorCode::unsupported ? Result<void>() : added;
  }

  Result<void> import(const std::shared_ptr<const CubinRecord>& record) {
    auto cubin = bundle_.read(record);
    // Checks that the record matches its image. Otherwise the library would be loaded without the
    // kernel.
    Result<void> sound = cubin ? check_image(*cubin->record, *cubin->image) : Result<void>(cubin.error());
    if (!sound) {
      if (sound.error().code != ErrorCode::corruption) return std::move(sound).error();
      refuse(StoreFinding::Kind::damaged_cubin, *record, sound.error().message);
      return {};
    }
    CUBINET_TRY_ASSIGN(CubinRecords there, there_.same_as(*record));
    const bool present = !there.empty();
    std::erase_if(there, [&](const auto& other) { return other->digest == record->digest; });
    if (!there.empty()) {
      CUBINET_TRY_ASSIGN(const bool taken_over, take_over(*record, there));
      if (!taken_over) return {};
    }
    // Published even if it exists, because that repairs a damaged entry.
    CUBINET_TRY(store_.publish(*cubin));
    if (auto newer = there_.newer_than(*record)) report_.outranked.push_back({record, std::move(newer)});
    if (!present) there_.add(record);
    ++(present ? report_.present : report_.imported);
    return {};
  }

  // Returns whether the existing build is replaced. A damaged one is ignored.
  Result<bool> take_over(const CubinRecord& record, const CubinRecords& there) {
    for (const auto& other : there) {
      CUBINET_TRY_ASSIGN(const auto loaded, store_.load(other));
      if (!loaded || on_conflict_ == OnConflict::replace) continue;
      refuse(StoreFinding::Kind::conflicting_build, record,
             "the bundle's image is " + record.digest.to_hex() + ", the same build's that is there " +
                 other->digest.to_hex());
      return false;
    }
    CUBINET_TRY(store_.remove(there));
    return true;
  }

  void refuse(StoreFinding::Kind kind, const CubinRecord& record, const std::string& reason) {
    report_.refused.push_back(
        {kind, bundle_.description().place, "kernel " + record.identity.key().to_string() + ": " + reason});
  }

  Bundle& bundle_;
  WritableStore& store_;
  OnConflict on_conflict_;
  BuildsThere there_;
  ImportReport report_;
};

Result<void> check_structure(const BundlePack& pack) {
  CUBINET_TRY_ASSIGN(const VerifyReport report, verify_bundle(pack, BundleCheck::structure));
  if (report.findings.empty()) return {};
  return pack.at_place(Error{ErrorCode::corruption, report.findings.front().reason});
}

}  // namespace

Result<ImportReport> import_bundle(Bundle& bundle, WritableStore& store, OnConflict on_conflict) {
  CUBINET_TRY(check_structure(bundle.pack()));
  CUBINET_TRY_ASSIGN(const CubinRecords records, bundle.list());
  return import_records(bundle, records, store, on_conflict);
}

Result<ImportReport> import_records(Bundle& bundle, const CubinRecords& records, WritableStore& store,
                                    OnConflict on_conflict) {
  return BundleImport(bundle, store, on_conflict).run(records);
}

}  // namespace cubinet
