// SPDX-License-Identifier: Apache-2.0
#include "device_rows.hpp"

#include <cubinet/cubin_registry/judge.hpp>

#include <algorithm>

namespace cubinet {
namespace {

// The builds of one kernel that have a row.
struct RowsOfKernel {
  std::vector<const StoredRow*> rows;
  KernelBuilds builds;
  bool published = true;  // if true, all are published, so every build of the kernel has a row
};

// A row with its store.
struct HeldRow {
  std::uint64_t kernel_hash = 0;
  const StoredRow* row = nullptr;
  std::size_t store = 0;

  const KernelIdentity& identity() const { return row->record->identity; }
};

// Returns whether the row was imported, or is from a bundle of imported kernels.
bool is_published(const StoredRow& row) {
  return row.record->origin == CubinOrigin::imported || !row.row->pin.empty();
}

// Orders by kernel, independent of the stores, then by store.
bool goes_before(const HeldRow& a, const HeldRow& b) {
  if (a.kernel_hash != b.kernel_hash) return a.kernel_hash < b.kernel_hash;
  return as_text(a.identity().kernel_encoding()) < as_text(b.identity().kernel_encoding());
}

std::vector<RowsOfKernel> by_kernel(const std::vector<std::shared_ptr<Store>>& stores,
                                    const std::vector<std::shared_ptr<const StoredRows>>& rows) {
  std::vector<HeldRow> held;
  for (std::size_t store = 0; store < rows.size(); ++store) {
    for (const StoredRow& row : *rows[store])
      held.push_back({row.record->identity.kernel_hash(), &row, store});
  }
  std::stable_sort(held.begin(), held.end(), goes_before);
  std::vector<RowsOfKernel> kernels;
  kernels.reserve(held.size());
  for (std::size_t i = 0; i < held.size(); ++i) {
    if (i == 0 || goes_before(held[i - 1], held[i])) kernels.emplace_back();
    RowsOfKernel& kernel = kernels.back();
    kernel.rows.push_back(held[i].row);
    kernel.builds.add(held[i].row->record, *stores[held[i].store], held[i].store);
    kernel.published = kernel.published && is_published(*held[i].row);
  }
  return kernels;
}

const StoredRow* row_of(const RowsOfKernel& kernel, const CubinRecord& record) {
  const auto row = std::find_if(kernel.rows.begin(), kernel.rows.end(), [&](const StoredRow* candidate) {
    return candidate->record.get() == &record || *candidate->record == record;
  });
  return row == kernel.rows.end() ? nullptr : *row;
}

void take(const RowsOfKernel& kernel, const Wish& wish, DeviceRows& result) {
  const auto judged = judge(wish, kernel.builds.offers);
  if (judged.empty()) return;  // removed after the rows were read
  const Judgement& best = judged.front();
  const StoredRow* row = row_of(kernel, *kernel.builds.records[best.offer]);
  if (best.usable() && row != nullptr) {
    result.rows.push_back(*row);
  } else if (!best.wanted_target || best.usable()) {
    result.elsewhere.push_back(row != nullptr ? *row : *kernel.rows.front());
  } else {
    ++(best.standing == Standing::foreign ? result.foreign : result.stale);
  }
}

}  // namespace

Result<DeviceRows> DeviceRowReader::rows(ComputeCapability device) {
  CUBINET_TRY_ASSIGN(const auto rows, library_.rows());
  DeviceRows result;
  result.tuning = library_.tuning();
  Wish published;
  published.targets = source_.targets_of(device);
  for (RowsOfKernel& kernel : by_kernel(library_.stores(), rows)) {
    Wish wish = published;
    if (!kernel.published) {
      const auto prepared = prepared_.prepare_held(kernel.rows.front()->record->identity.kernel());
      if (prepared == nullptr) {
        ++result.stale;
        continue;
      }
      // Includes builds without a row: a request would use one of them if it is the best.
      CUBINET_TRY_ASSIGN(kernel.builds, library_.all_of(prepared->id()));
      wish = source_.wish_for(*prepared, std::move(wish.targets), kernel.builds.offers);
    }
    take(kernel, wish, result);
  }
  return result;
}

Result<ExplainedBuild> DeviceRowReader::standing(std::shared_ptr<const CubinRecord> record) {
  const Offer offer = Offer::of(*record, 0);
  const auto prepared = prepared_.prepare_held(record->identity.kernel());
  ExplainedBuild build;
  build.record = std::move(record);
  if (prepared == nullptr) {
    const bool local = build.record->origin == CubinOrigin::compiled;
    build.standing = local ? Standing::stale : Standing::shipped;
    build.verdict = "the template has other parameters now";
    return build;
  }
  const Wish wish = source_.wish_for(*prepared, {offer.target}, std::span(&offer, 1));
  build.standing = standing_of(offer, wish);
  if (build.standing == Standing::stale && wish.today.empty()) {
    return Error{ErrorCode::unavailable,
                 prepared->spec().to_string() + ": what would be built today cannot be told",
                 "see that every header of its template can be read"};
  }
  build.verdict = explain(offer, wish, build.record->compiler);
  return build;
}

}  // namespace cubinet
