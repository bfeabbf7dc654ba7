// SPDX-License-Identifier: Apache-2.0
#include "name_snapshot.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace cubinet {
namespace {

using Counts = std::map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>>;  // rows, plain kernels

}  // namespace

bool NameSnapshot::is_of(const std::vector<IndexedImport>& imports) const {
  return std::equal(
      imports.begin(), imports.end(), stamps_.begin(), stamps_.end(),
      [](const IndexedImport& import, const ImportStamp& stamp) { return import.stamp == stamp; });
}

Result<void> NameSnapshot::fill(const std::vector<IndexedImport>& imports, const std::vector<KernelRow>& rows,
                                std::vector<NamedKernel> plain) {
  stamps_.clear();
  kernels_.clear();
  Counts stated;
  Counts found;
  for (const IndexedImport& import : imports) {
    stated[import.stamp.number] = {import.summary.rows, import.summary.plain};
    found[import.stamp.number] = {};
  }
  std::unordered_map<std::string, std::vector<NamedKernel>> kernels;
  for (const KernelRow& row : rows) {
    if (row.provenance.origin != RowOrigin::imported) continue;
    ++found[row.provenance.version].first;
    kernels[row.function_name].push_back(
        {row.provenance.version, {row.function_name, row.shared_bytes, row.threads, row.target, row.digest}});
  }
  for (NamedKernel& named : plain) {
    ++found[named.import].second;
    kernels[named.kernel.function_name].push_back(std::move(named));
  }
  if (found != stated)
    return Error{ErrorCode::corruption, "an import has not as many kernels in the index as it says"};
  for (auto& [name, group] : kernels) {
    std::stable_sort(group.begin(), group.end(),
                     [](const NamedKernel& a, const NamedKernel& b) { return a.import > b.import; });
  }
  kernels_ = std::move(kernels);
  for (const IndexedImport& import : imports)
    stamps_.push_back(import.stamp);
  return {};
}

std::vector<NamedKernel> NameSnapshot::find(std::string_view function_name) const {
  const auto found = kernels_.find(std::string(function_name));
  return found == kernels_.end() ? std::vector<NamedKernel>() : found->second;
}

}  // namespace cubinet
