// SPDX-License-Identifier: Apache-2.0
#include "device_rows.hpp"

#include <cubinet/cubin_registry/judge.hpp>

#include <algorithm>
#include <unordered_map>

namespace cubinet {
namespace {

// The builds of one kernel that have a row.
struct RowsOfKernel {
  KernelId id;
  std::vector<const StoredRow*> rows;
  KernelBuilds builds;
  bool published = true;  // all of them: then no build of the kernel is without a row
};

std::vector<RowsOfKernel> by_kernel(const std::vector<std::shared_ptr<const StoredRows>>& stores) {
  std::vector<RowsOfKernel> kernels;
  std::unordered_multimap<std::uint64_t, std::size_t> known;
  for (std::size_t store = 0; store < stores.size(); ++store) {
    for (const StoredRow& row : *stores[store]) {
      const KernelIdentity& identity = row.record->identity;
      const auto [begin, end] = known.equal_range(identity.kernel_hash());
      const auto there =
          std::find_if(begin, end, [&](const auto& pair) { return identity.is_of(kernels[pair.second].id); });
      const std::size_t number = there == end ? kernels.size() : there->second;
      if (there == end) {
        known.emplace(identity.kernel_hash(), number);
        kernels.emplace_back().id = identity.kernel();
      }
      RowsOfKernel& kernel = kernels[number];
      kernel.rows.push_back(&row);
      kernel.builds.add(row.record, store);
      kernel.published = kernel.published && row.record->origin == CubinOrigin::imported;
    }
  }
  std::sort(kernels.begin(), kernels.end(),
            [](const RowsOfKernel& a, const RowsOfKernel& b) { return a.id.encoding() < b.id.encoding(); });
  return kernels;
}

const StoredRow* row_of(const RowsOfKernel& kernel, const CubinRecord& record) {
  const auto row = std::find_if(kernel.rows.begin(), kernel.rows.end(),
                                [&](const StoredRow* candidate) { return *candidate->record == record; });
  return row == kernel.rows.end() ? nullptr : *row;
}

void take(const RowsOfKernel& kernel, const Wish& wish, DeviceRows& result) {
  const auto judged = judge(wish, kernel.builds.offers);
  if (judged.empty()) return;  // removed since the rows were read
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
  CUBINET_TRY_ASSIGN(const auto stores, library_.rows());
  DeviceRows result;
  Wish published;
  published.targets = source_.targets_of(device);
  for (RowsOfKernel& kernel : by_kernel(stores)) {
    Wish wish = published;
    if (!kernel.published) {
      const auto prepared = prepared_.prepare_held(kernel.id);
      if (prepared == nullptr) {
        ++result.stale;
        continue;
      }
      // Those without a row as well: a request would take one of them where it is the best.
      CUBINET_TRY_ASSIGN(kernel.builds, library_.all_of(prepared->id()));
      wish = source_.wish_for(*prepared, std::move(wish.targets), kernel.builds.offers);
    }
    take(kernel, wish, result);
  }
  return result;
}

Result<BuildStanding> DeviceRowReader::standing(const CubinRecord& record) {
  const Offer offer = Offer::of(record, 0);
  const auto prepared = prepared_.prepare_held(record.identity.kernel());
  if (prepared == nullptr) {
    const bool local = record.origin == CubinOrigin::compiled;
    return BuildStanding{local ? Standing::stale : Standing::shipped,
                         "the template has other parameters now"};
  }
  const Wish wish = source_.wish_for(*prepared, {offer.target}, std::span(&offer, 1));
  const Standing standing = standing_of(offer, wish);
  if (standing == Standing::stale && wish.today.empty()) {
    return Error{ErrorCode::unavailable,
                 prepared->spec().to_string() + ": what would be built today cannot be told",
                 "see that every header of its template can be read"};
  }
  return BuildStanding{standing, explain(offer, wish)};
}

}  // namespace cubinet
