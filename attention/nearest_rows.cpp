// SPDX-License-Identifier: Apache-2.0
#include <cubinet/attention/backend.hpp>
#include <cubinet/base/text.hpp>
#include <cubinet/kernel_table/column.hpp>

#include <algorithm>
#include <tuple>

namespace cubinet {

std::string NearMiss::to_string(ComputeCapability device) const {
  std::string line = row->function_name + " (" + row->target.to_string() + ")";
  const char* separator = ": ";
  for (const ColumnDifference& difference : differences(wanted, row->selector)) {
    line += separator + difference.to_string();
    separator = ", ";
  }
  for (const ExtraColumn& extra : row->extras) {
    if (!extra.is_off()) {
      line +=
          "; has a variant on that this version does not know (" + printable(extra.name, kQuotedBytes) + ")";
    }
  }
  if (!runs_here) line += "; " + why_not_on(row->target, device);
  return line;
}

std::vector<NearMiss> nearest_rows(const KernelIndex& index, const KernelSelector& wanted,
                                   std::size_t limit) {
  struct Rated {
    std::size_t distance;
    bool elsewhere;
    const std::shared_ptr<const KernelRow>* row;
  };
  std::vector<Rated> rated;
  rated.reserve(index.rows().size());
  const auto columns = kernel_columns();
  KernelRow target;
  target.selector = wanted;
  for (const auto& row : index.rows()) {
    std::size_t distance = 0;
    for (const Column& column : columns) {
      if (column.asked_for && column.get(*row) != column.get(target)) ++distance;
    }
    rated.push_back({distance, !runs_on(row->target, index.device()), &row});
  }
  const auto closer = [](const Rated& a, const Rated& b) {
    const KernelRow &of_a = **a.row, &of_b = **b.row;
    return std::tie(a.distance, a.elsewhere, of_a.function_name, of_a.target) <
           std::tie(b.distance, b.elsewhere, of_b.function_name, of_b.target);
  };
  limit = std::min(limit, rated.size());
  std::partial_sort(rated.begin(), rated.begin() + static_cast<std::ptrdiff_t>(limit), rated.end(), closer);
  std::vector<NearMiss> nearest;
  for (std::size_t i = 0; i < limit; ++i)
    nearest.push_back({*rated[i].row, !rated[i].elsewhere, wanted});
  return nearest;
}

}  // namespace cubinet
