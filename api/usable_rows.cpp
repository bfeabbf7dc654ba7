// SPDX-License-Identifier: Apache-2.0
#include <cubinet/usable_rows.hpp>

#include <algorithm>
#include <set>
#include <tuple>

namespace cubinet {
namespace {

// What a row and the record it was made from have in common. Bundles' rows have no fingerprint.
using RowSource = std::tuple<RowOrigin, Sha256Digest, Sha256Digest>;

RowSource source_of(const KernelRow& row) {
  return {row.provenance.origin, row.digest, row.provenance.fingerprint};
}

RowSource source_of(const CubinRecord& record) {
  if (record.origin == CubinOrigin::bundle) return {RowOrigin::bundle, record.digest, Sha256Digest{}};
  return {RowOrigin::compiled, record.digest, record.fingerprint.digest};
}

enum class Verdict { usable, stale, foreign };

Result<Verdict> judge(const CubinRecord& record, const TemplateCatalog& templates, Compiler* compiler,
                      const CompileOptions& options) {
  CUBINET_TRY_ASSIGN(DecodedIdentity identity, decode_identity(record.identity.encoding()));
  const auto known = templates.find(identity.spec.name);
  if (!known) return Verdict::usable;
  if (record.interface_version != (*known)->interface_version()) return Verdict::foreign;
  if (record.origin == CubinOrigin::bundle || compiler == nullptr) return Verdict::usable;
  // A specification that the template no longer takes is nothing that would be built today.
  const auto resolved = (*known)->resolve(identity.spec);
  if (!resolved || !(*resolved == identity.spec)) return Verdict::stale;
  CUBINET_TRY_ASSIGN(
      const BuildFingerprint today,
      compiler->fingerprint({*known, std::move(identity.spec), record.target, options, record.kind, true}));
  return today == record.fingerprint ? Verdict::usable : Verdict::stale;
}

}  // namespace

Result<UsableRows> usable_rows(Registry& registry, const TemplateCatalog& templates, Compiler* compiler,
                               const CompileOptions& options) {
  CUBINET_TRY_ASSIGN(std::vector<KernelRow> rows, registry.kernel_rows());
  std::set<RowSource> stale;
  std::set<RowSource> foreign;
  const auto of_an_entry = [](const KernelRow& row) { return row.provenance.origin != RowOrigin::imported; };
  if (std::any_of(rows.begin(), rows.end(), of_an_entry)) {
    CUBINET_TRY_ASSIGN(const auto records, registry.list());
    for (const auto& record : records) {
      if (record->row.empty()) continue;
      CUBINET_TRY_ASSIGN(const Verdict verdict, judge(*record, templates, compiler, options));
      if (verdict == Verdict::stale) stale.insert(source_of(*record));
      if (verdict == Verdict::foreign) foreign.insert(source_of(*record));
    }
  }
  UsableRows usable;
  usable.foreign =
      std::erase_if(rows, [&](const KernelRow& row) { return foreign.contains(source_of(row)); });
  for (KernelRow& row : rows) {
    row.provenance.stale = stale.contains(source_of(row));
    usable.stale += row.provenance.stale ? 1 : 0;
  }
  CUBINET_TRY_ASSIGN(ResolvedRows resolved, resolve_conflicts(std::move(rows)));
  usable.rows = std::move(resolved.rows);
  usable.conflicts = std::move(resolved.conflicts);
  std::erase_if(usable.rows, [](const KernelRow& row) { return row.provenance.stale; });
  return usable;
}

}  // namespace cubinet
