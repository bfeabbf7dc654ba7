// SPDX-License-Identifier: Apache-2.0
#include <cubinet/cubin_registry/bundle.hpp>
#include <cubinet/spec/image_check.hpp>

#include <algorithm>

namespace cubinet {
namespace {

Result<bool> is_present(Registry& registry, const CubinRecord& record) {
  CUBINET_TRY_ASSIGN(const auto there, registry.find(record.identity));
  return std::any_of(there.begin(), there.end(),
                     [&](const auto& other) { return other->fingerprint == record.fingerprint; });
}

}  // namespace

Result<ImportReport> import_bundle(const Bundle& bundle, Registry& registry) {
  ImportReport report;
  for (const auto& record : bundle.records()) {
    auto cubin = bundle.load(record);
    // A record that lies about its image would be found, loaded, and give a library without the kernel.
    Result<void> sound = cubin ? check_image(*cubin->record, *cubin->image) : Result<void>(cubin.error());
    if (!sound) {
      if (sound.error().code != ErrorCode::corruption) return std::move(sound).error();
      report.refused.push_back(
          {RegistryFinding::Kind::damaged_cubin, bundle.path(),
           "kernel " + record->identity.key().to_string() + ": " + sound.error().message});
      continue;
    }
    CUBINET_TRY_ASSIGN(const bool present, is_present(registry, *record));
    // Published even so: an entry that is there and damaged is mended by it.
    CUBINET_TRY(registry.publish(*cubin));
    ++(present ? report.present : report.imported);
  }
  return report;
}

}  // namespace cubinet
