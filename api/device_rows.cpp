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

void take(const RowsOfKernel& kernel, const BuildRequest& build_request, DeviceRows& result) {
  const auto judged = judge(build_request, kernel.builds.candidates);
  if (judged.empty()) return;  // removed after the rows were read
  const Judgement& best = judged.front();
  const StoredRow* row = row_of(kernel, *kernel.builds.records[best.candidate]);
  if (best.usable() && row != nullptr) {
    result.rows.push_back(*row);
  } else if (!best.wanted_target || best.usable()) {
    result.elsewhere.push_back(row != nullptr ? *row : *kernel.rows.front());
  } else {
    ++(best.status == BuildStatus::foreign ? result.foreign : result.stale);
  }
}

}  // namespace

Result<DeviceRows> DeviceRowReader::rows(ComputeCapability device) {
  CUBINET_TRY_ASSIGN(const auto rows, library_.rows());
  DeviceRows result;
  result.tuning = library_.tuning();
  BuildRequest published;
  published.targets = source_.targets_of(device);
  for (RowsOfKernel& kernel : by_kernel(library_.stores(), rows)) {
    BuildRequest build_request = published;
    if (!kernel.published) {
      const auto prepared = kernels_.resolve_held(kernel.rows.front()->record->identity.kernel());
      if (prepared == nullptr) {
        ++result.stale;
        continue;
      }
      // Includes builds without a row: a request would use one of them if it is the best.
      CUBINET_TRY_ASSIGN(kernel.builds, library_.all_of(prepared->id()));
      build_request =
          source_.build_request_for(*prepared, std::move(build_request.targets), kernel.builds.candidates);
    }
    take(kernel, build_request, result);
  }
  return result;
}

Result<ExplainedBuild> DeviceRowReader::build_status(std::shared_ptr<const CubinRecord> record) {
  const BuildCandidate candidate = BuildCandidate::of(*record, 0);
  const auto prepared = kernels_.resolve_held(record->identity.kernel());
  ExplainedBuild build;
  build.record = std::move(record);
  if (prepared == nullptr) {
    const bool local = build.record->origin == CubinOrigin::compiled;
    build.status = local ? BuildStatus::stale : BuildStatus::shipped;
    build.verdict = "the template has other parameters now";
    return build;
  }
  const BuildRequest build_request =
      source_.build_request_for(*prepared, {candidate.target}, std::span(&candidate, 1));
  build.status = build_status_of(candidate, build_request);
  if (build.status == BuildStatus::stale && build_request.today.empty()) {
    return Error{ErrorCode::unavailable,
                 prepared->spec().to_string() + ": the current build cannot be determined",
                 "see that every header of its template can be read"};
  }
  build.verdict = explain(candidate, build_request, build.record->compiler);
  return build;
}

}  // namespace cubinet
