// SPDX-License-Identifier: Apache-2.0
#include <cubinet/session/bundle_comparison.hpp>
#include <cubinet/session/json.hpp>
#include <cubinet/session/open_stores.hpp>

#include <map>
#include <tuple>

namespace cubinet {
namespace {

// Identifies a build in every bundle: the identity, the kind and the build fingerprint.
using BuildName = std::tuple<Bytes, ImageKind, BuildFingerprint>;
using BuildsByName = std::map<BuildName, std::shared_ptr<const CubinRecord>>;

Result<BuildsByName> builds_by_name(Bundle& bundle) {
  CUBINET_TRY_ASSIGN(const CubinRecords records, bundle.list());
  BuildsByName builds;
  for (const auto& record : records)
    builds.emplace(BuildName(record->identity.encoding(), record->kind, record->fingerprint), record);
  return builds;
}

// Returns whether two records are equal except for the version of their bundles.
bool same_but_version(const CubinRecord& a, CubinRecord b) {
  b.version = a.version;
  return a == b;
}

nlohmann::json summaries_of(const CubinRecords& records) {
  nlohmann::json summaries = nlohmann::json::array();
  for (const auto& record : records)
    summaries.push_back(describe(*record));
  return summaries;
}

}  // namespace

Result<std::shared_ptr<Bundle>> open_sound_bundle(const SessionOptions& session, const std::string& path) {
  CUBINET_TRY_ASSIGN(auto bundle, open_bundle_file(session, path));
  CUBINET_TRY_ASSIGN(const VerifyReport report, bundle->verify());
  if (report.findings.empty()) return bundle;
  return Error{ErrorCode::corruption,
               "'" + path + "' is damaged and not compared: " + report.findings.front().reason,
               "create the bundle or fetch it again"};
}

Result<BundleComparison> compare_bundles(Bundle& first, Bundle& second) {
  CUBINET_TRY_ASSIGN(const BuildsByName before, builds_by_name(first));
  CUBINET_TRY_ASSIGN(const BuildsByName after, builds_by_name(second));
  BundleComparison comparison;
  comparison.versions = {first.root().options.version, second.root().options.version};
  for (const auto& [name, record] : before) {
    const auto found = after.find(name);
    if (found == after.end()) {
      comparison.only_in_first.push_back(record);
    } else if (!same_but_version(*record, *found->second)) {
      comparison.changed.push_back(found->second);
    }
  }
  for (const auto& [name, record] : after) {
    if (!before.contains(name)) comparison.only_in_second.push_back(record);
  }
  return comparison;
}

std::string to_json(const BundleComparison& comparison) {
  return json_text({{"only_in_first", summaries_of(comparison.only_in_first)},
                    {"only_in_second", summaries_of(comparison.only_in_second)},
                    {"changed", summaries_of(comparison.changed)},
                    {"versions", comparison.versions},
                    {"equal", comparison.differences() == 0}});
}

}  // namespace cubinet
